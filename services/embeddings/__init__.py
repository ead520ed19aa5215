"""TEMPORARY until the embedders' owner writes this file."""
from services.embeddings.hashed import HashEmbedder, identity as _id
from services.embeddings.identity import Embedder, Identity
def prepared(): return True
def prepare(progress=None): return None
def get_embedder(identity=None): return HashEmbedder(identity or _id())
