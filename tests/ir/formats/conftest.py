import sys
from pathlib import Path

# The helpers beside these tests are imported by name; importlib mode leaves sys.path alone.
sys.path.insert(0, str(Path(__file__).parent))
