"""Links as sources: what a user typed is fetched once, checked, and kept like an upload.

Only an address that a user typed is ever fetched; what a source says is data. The modules from the
ground up: ``address`` (what was typed, in one form), ``guard`` (what may be reached), ``fetch``
(one download), ``challenge`` (pages that are no content), ``youtube`` (captions), ``bring`` (the
bytes of a link for the pipeline).
"""
