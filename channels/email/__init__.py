"""E-mail: one message for each recipient on the way out; replies, bounces and automatic mail on the way in.

Out: ``channel`` sends. ``render`` builds headers and bodies from ``templates`` and ``template_views``: ``view_text``
cleans what others wrote, ``choice_views`` makes buttons and links, ``overrides`` checks an operator's own templates,
``first_screen`` puts what matters on a phone's first screen, ``reply_words`` has our sentences in ten languages.
``mime`` writes the bytes; ``mail_server`` and ``smtp`` hand them to the server.

In: ``imap`` fetches mail, ``lmtp_server`` takes it from a mail server. ``inbound`` reads one mail as a value: ``head``
reads its fields once, ``classify`` says its kind, ``authentication`` whether its sender is real, ``addressing`` whose
token it bears, ``delivery_reports`` what a bounce says. ``body``, ``html``, ``quoting`` and ``own_words`` find what the
person wrote themselves, without ``banners`` and ``called_lines``. ``shown`` judges what a browser would show of a page,
by ``css`` and ``style_sheets``. ``body`` and ``classify`` recognise mails that nobody wrote.

What must never be: an answer from quoted text, from a machine or from an unverified sender; a password over an
unencrypted line; a reply to a bounce; a parser that raises on hostile bytes.
"""
