"""Ways into HALO besides the screen. Each is thin: it parses, calls a service, prints."""
