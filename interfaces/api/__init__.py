"""``halo serve``: the notebook over HTTP, for other programs on this computer.

    gate       who may ask: browsers of foreign pages never, others with the key where one is set
    limit      how much a request may hold
    bodies     what requests and answers hold
    failures   the one shape of every error, and the status each class of error gets
    sources, questions, notes    the routes
    server     the application, and the process that serves it

Routes are thin: the services are those of the screen and of the command line.
"""

from interfaces.api.server import application, serve

__all__ = ["application", "serve"]
