from pathlib import Path
SAMPLE_TITLE="Sample"
SAMPLE_QUESTIONS={"en":[],"de":[]}
def sample_files(): return sorted((Path(__file__).parent/"files").iterdir())
