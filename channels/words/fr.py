"""French. "Si" (if, and a yes that contradicts), "entendu" and "c'est bon" are no answers."""

from channels.words.language import Words

WORDS = Words(
    yes="oui, ouais, d'accord, je suis d'accord, vas y, allez y, bien sûr, bien sur, volontiers, "
    "certainement, absolument, tout à fait, ça marche, ok pour moi, oui merci, oui allez y, oui vas y, tu "
    "peux y aller, vous pouvez y aller, feu vert, oui bien sûr, bien sûr que oui, validé, validée, je valide, "
    "valider, valide",
    no="non, pas d'accord, je ne suis pas d'accord, bien sûr que non, certainement pas, absolument pas, "
    "surtout pas, pas question, hors de question, non merci",
    approve="approuvé, approuvée, approuve, approuver, j'approuve, j'approuve la demande, approuvez, accord "
    "donné, bon pour accord",
    accept="accepté, acceptée, accepter, j'accepte",
    confirm="confirmé, confirmée, confirmer, je confirme",
    allow="autorisé, autorisée, autoriser, j'autorise",
    deny="refusé, refusée, refuser, refus, je refuse, rejeté, rejetée, rejeter, je rejette, décliné, je "
    "décline, non approuvé, non approuvée, je n'approuve pas, n'approuve pas, je n'accepte pas",
    claim="je m'en occupe, je m'en charge, je regarde, je regarde ça, je vais regarder, je regarde tout de "
    "suite, je vérifie, je vais vérifier, je prends, je le prends, je prends en charge, je suis dessus, c'est "
    "pour moi, je m'y mets, je m'en occupe tout de suite",
    doubt="dès, une fois, aussitôt, tant que, en attendant, pas, ne, jamais, aucun, aucune, rien, mais, si, "
    "sauf, sans, jusqu'à, jusque, attendre, attends, attendez, attendons, attente, un instant, stop, d'abord, "
    "peut être, éventuellement, probablement, sans doute, ou, soit, ni, avant, après, dès que, demain, plus "
    "tard, bientôt, lundi, mardi, mercredi, jeudi, vendredi, semaine prochaine, à condition, sous réserve, "
    "pourvu, cependant, toutefois, pourtant, plutôt, seulement, uniquement, pourrait, pourrais, devrait, "
    "pense, crois, suppose, vérifie, vérifier, vérifions, regarde, regarder, voir, discuter, demander, "
    "demande à, entendu, c'est bon, bien reçu, bien noté, noté, reçu, compris, lu, en partie, moitié, annule, "
    "annuler, erreur, ignorez, finalement, en fait, oubliez, non, s'il, quand, lorsque, pourquoi, qui, quoi, "
    "aucune idée, je ne sais, bof, pas encore, quelqu'un d'autre, je reviens",
    later="demain, plus tard, lundi, mardi, mercredi, jeudi, vendredi, semaine prochaine, plutôt, attendons, jusqu'à",
    negation="pas, ne, jamais, aucun, aucune, rien, sans, ni, non, n'a, n'est, n'ont",
    harmless="le plus vite possible, au plus vite, dès que possible, dès maintenant, dès aujourd'hui, dès à "
    "présent, attend depuis, attend déjà, pas de problème, pas de souci, pas de soucis, aucun problème, "
    "aucune objection, pas d'objection, sans problème, sans souci, s'il vous plaît, s'il vous plait, s'il te "
    "plaît, s'il te plait, pourquoi pas",
    refrain="pas ce soir, pas maintenant, pas aujourd'hui, pas encore, pas tout de suite, pas pour l'instant, "
    "pas cette semaine, ne pas déployer, ne déployez pas, ne déploie pas, ne le faites pas, ne le fais pas, "
    "ne pas rembourser, ne remboursez pas, ne pas approuver, n'approuvez pas, surtout pas, certainement pas, "
    "absolument pas, pas d'accord, ne faites rien, ne lancez pas, ne payez pas",
    lead_in="je, nous, veuillez, merci de, s'il vous plaît, s'il vous plait, s'il te plaît, je choisis, je "
    "prends, je vote pour, je préfère, choix, mon choix, mon choix est, option, l'option, numéro, le numéro, "
    "réponse, ma réponse, ma réponse est, ma décision, décision, alors, bonjour, ok, va pour, on prend, "
    "prenez, on part sur, on va sur, partons sur, je prends l'option, plutôt l'option, région, la région, "
    "pour moi",
    subject="remboursement, le remboursement, demande, la demande, commande, la commande, paiement, le "
    "paiement, déploiement, le déploiement, la mise en production",
    filler="ça, cela, le, la, les, l', ceci, maintenant, tout de suite, pour moi, y, déployez, déployer, "
    "déploie, lancez, lance, le remboursement, remboursement, la demande, la commande, le paiement, le "
    "déploiement, immédiatement, tout, aujourd'hui, en production, rembourser, remboursez, rembourse, le "
    "rembourser, c'est parti, c'est mon choix",
    polite="merci, merci beaucoup, merci bien, merci d'avance, svp, stp, s'il vous plaît, s'il vous plait, "
    "s'il te plaît, s'il te plait, cordialement, bien à vous, bonne journée",
    because="car, parce, puisque, vu que, en raison",
    greeting="bonjour, bonsoir, salut, cher, chère, madame, monsieur, coucou, bjr",
    farewell="cordialement, bien cordialement, bien à vous, bien à toi, merci, merci beaucoup, merci "
    "d'avance, salutations, sincères salutations, meilleures salutations, bonne journée, amicalement, cdt, à "
    "bientôt, merci et bonne journée",
    true="vrai",
    false="faux",
)
