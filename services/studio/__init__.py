"""The Studio: finished outputs made from sources, which carry their citations.

``outputs`` keeps the records (studio_outputs.json), ``runs`` makes them in the background,
``material`` is what is read out of the sources, ``writing/`` holds one module a kind that turns it
into content, ``templates/`` one small file an output that users choose, ``export/`` one module a
file format. Content is Markdown with ``[n]`` markers, and ``data`` where it is cells or cards.
"""
