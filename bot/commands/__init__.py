"""The server's commands: one module for each family. ``bot/cli.py`` registers them; commands that only need the API are
in the SDK (``handraise.cli``).

``keys`` (with ``making_keys``) and ``backup`` (with ``backups``) work on the machine of the database. ``channels`` has
previews and the Slack manifest, which only need the configuration, and quarantined mail over HTTP. ``configuration``
(with ``making_configuration``) writes a first configuration, and checks one. ``dev`` (with ``dev_folder``) is a service
for one person, without a configuration. ``doctor`` checks everything that has to work; its ``--send`` asks one person
over HTTP.

What must never be: an import of the store or the web at the top of a module that is imported for the list of commands
(a command starts fast), or others' words printed other than through ``handraise.cli.terminal``.
"""
