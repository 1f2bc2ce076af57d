"""What the gateway's container finds: its file, its environment and its Secrets, in a folder."""

from pathlib import Path

import trustme

from tests.chart.helm import Rendered, container, gateway_file

SECRET = "sk-from-a-secret"


def laid_out(rendered: Rendered, folder: Path) -> tuple[Path, dict[str, str]]:
    """The configuration file, with the paths that Secrets are mounted at changed to ones here, and the variables."""
    for name in ("keys", "tls", "redis"):
        (folder / name).mkdir(exist_ok=True)
    (folder / "keys" / "keys").write_text(f"{SECRET}\n")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "redis" / "ca.crt")
    issued = authority.issue_cert("spillway.llm")
    issued.private_key_pem.write_to_path(folder / "tls" / "tls.key")
    for pem in issued.cert_chain_pems:
        pem.write_to_path(folder / "tls" / "tls.crt", append=True)
    text = gateway_file(rendered)
    for mount in container(rendered.one("Deployment", "gateway"))["volumeMounts"]:
        here = folder / mount["mountPath"].removeprefix("/etc/spillway-")
        if here.is_dir():
            text = text.replace(mount["mountPath"] + "/", f"{here}/")
    file = folder / "spillway.yaml"
    file.write_text(text)
    env = container(rendered.one("Deployment", "gateway")).get("env", [])
    return file, {it["name"]: it.get("value", SECRET) for it in env}
