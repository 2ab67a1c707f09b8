"""Make the helpers of this folder importable: tests are imported by path, without packages."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
