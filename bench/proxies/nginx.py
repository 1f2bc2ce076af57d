"""nginx: the floor that everything else is measured against."""

import subprocess

from bench.paths import tool
from bench.proxies.base import Command, Proxy, Site

CONFIG = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    keepalive_requests 1000000000;
    upstream engines {{
        least_conn;
        server 127.0.0.1:{first};
        server 127.0.0.1:{second};
        keepalive 256;
        keepalive_requests 1000000000;
    }}
    server {{
        listen 127.0.0.1:{port} backlog=1024;
        client_max_body_size 64m;
        location / {{
            proxy_pass http://engines;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_read_timeout 600s;
        }}
    }}
}}
"""


def command(site: Site) -> Command:
    """One worker beside the idle master."""
    first, second = site.engine_ports
    path = site.write("nginx.conf", CONFIG.format(folder=site.folder, port=site.port, first=first, second=second))
    return Command((tool("nginx"), "-c", path, "-e", "stderr", "-p", str(site.folder)))


def version() -> str:
    """As `nginx -v` says it."""
    done = subprocess.run([tool("nginx"), "-v"], capture_output=True, text=True, check=True)
    return done.stderr.strip().removeprefix("nginx version: nginx/")


PROXY = Proxy(
    "nginx", "one worker, `proxy_buffering off`, `least_conn`, upstream keep-alive, no access log", command, version
)
