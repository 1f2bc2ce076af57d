"""Lets SGLang be imported without Triton and IPython, and with a torchvision built for CUDA beside a torch that is not.

Imported before anything of SGLang's, in every process of it: `scripts/sglang-venv.sh` does so by a `.pth` file.
"""

import importlib.machinery
import importlib.util
import sys
import types
from typing import Any

import torch

_TRITON = {
    "runtime.jit": ("JITFunction", "KernelInterface"),
    "runtime.autotuner": ("Autotuner", "OutOfResources", "PTXASError"),
    "runtime.cache": (),
    "runtime.driver": (),
    "compiler": ("CompiledKernel",),
    "compiler.compiler": ("ASTSource",),
    "backends.compiler": ("GPUTarget",),
    "testing": (),
    "tools.tensor_descriptor": ("TensorDescriptor",),
    "language.extra.libdevice": (),
    "language.extra.cuda": (),
}
_LIBRARIES: list[Any] = []


def _sglangs_stubs() -> Any:
    """SGLang's own stand-in for Triton, which it has for macOS, loaded without SGLang."""
    package = importlib.util.find_spec("sglang")
    assert package is not None
    assert package.submodule_search_locations is not None
    spec = importlib.util.spec_from_file_location(
        "_sglang_stubs", f"{package.submodule_search_locations[0]}/_platform_stubs.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["_sglang_stubs"] = module
    spec.loader.exec_module(module)
    return module


def _hold(self: types.SimpleNamespace, value: object = None) -> None:
    self.value = value


def _stand_in_for_triton() -> None:
    stubs = _sglangs_stubs()
    sys.meta_path.insert(0, stubs._TritonFinder())
    triton = stubs._make_mock("triton")
    triton.__version__ = "3.0.0"
    triton.cdiv, triton.next_power_of_2, triton.Config = stubs._cdiv, stubs._next_power_of_2, stubs._Config
    triton.language = stubs._make_mock("triton.language")

    triton.language.constexpr = type("constexpr", (types.SimpleNamespace,), {"__init__": _hold})
    for module, names in _TRITON.items():
        path = "triton"
        for part in module.split("."):
            parent, path = sys.modules[path], f"{path}.{part}"
            setattr(parent, part, sys.modules.get(path) or stubs._make_mock(path))
        for name in names:
            base = Exception if name.endswith(("Error", "Resources")) else stubs._StubBase
            setattr(sys.modules[path], name, type(name, (base,), {}))


def _stand_in_for_ipython() -> None:
    package, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    for module in (package, display):
        module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None)
        sys.modules[module.__name__] = module
    for name in ("HTML", "display"):
        setattr(display, name, lambda *_, **__: None)
    package.__path__ = []
    vars(package)["display"] = display


def install() -> None:
    """Puts the stand-ins in place of what is missing."""
    if importlib.util.find_spec("triton") is None:
        _stand_in_for_triton()
    if importlib.util.find_spec("IPython") is None:
        _stand_in_for_ipython()
    if importlib.util.find_spec("torchvision") is not None and torch.version.cuda is None:
        library = torch.library.Library("torchvision", "DEF")
        for operator in ("nms", "qnms"):
            library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _LIBRARIES.append(library)  # it takes the operators back when it is collected


install()
