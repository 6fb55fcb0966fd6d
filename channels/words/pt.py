"""Portuguese, of Portugal and Brazil. "Pois não" is a yes in Brazil's shops and a no elsewhere: a doubt."""

from channels.words.language import Words

WORDS = Words(
    yes="sim, claro, claro que sim, com certeza, de acordo, estou de acordo, concordo, pode avançar, podem "
    "avançar, avance, avancem, avança, pode prosseguir, podem prosseguir, prossiga, prossigam, pode seguir, "
    "siga, podem seguir, pode fazer, força, manda ver, ok para mim, por mim tudo bem, sim por favor",
    no="não, nao, não obrigado, não obrigada, claro que não, de jeito nenhum, de maneira nenhuma, não "
    "concordo, nem pensar, não faça, não façam, não avance, não avancem",
    approve="aprovado, aprovada, aprovar, aprovo, aprove, pode aprovar, está aprovado, está aprovada, fica aprovado",
    accept="aceite, aceito, aceita, aceitar, aceitado",
    confirm="confirmado, confirmada, confirmar, confirmo",
    allow="autorizado, autorizada, autorizar, autorizo, permitido, permitir, permito",
    deny="recusado, recusada, recusar, recuso, rejeitado, rejeitada, rejeitar, rejeito, negado, negada, "
    "negar, nego, indeferido, não aprovado, não aprovada, não aprovo, não aprovar, não autorizo, não "
    "autorizado, nao aprovo",
    claim="eu trato disso, trato disso, trato disto, eu trato disto, estou a tratar disto, eu trato, estou a "
    "tratar, estou a ver, estou a tratar disso, vou ver, vou verificar, vou dar uma olhada, eu cuido disso, "
    "cuido disso, deixa comigo, deixe comigo, estou nisso, estou vendo, estou olhando, já estou vendo, já "
    "estou a ver, estou verificando, estou a verificar, eu vejo isso, pode deixar comigo",
    doubt="assim que, uma vez, após, com a condição, enquanto, mediante, não, nao, nunca, jamais, nenhum, "
    "nenhuma, ninguém, nada, sem, mas, porém, se, salvo, exceto, a menos, a não ser, até, espera, espere, "
    "esperem, esperar, aguarde, aguardem, aguardar, aguarda, um momento, parar, pare, primeiro, antes, "
    "depois, logo, mais tarde, amanhã, em breve, segunda, terça, quarta, quinta, sexta, próxima semana, "
    "semana que vem, talvez, provavelmente, possivelmente, eventualmente, pode ser, ou, quando, desde que, "
    "caso, contanto, sob condição, embora, contudo, no entanto, entretanto, poderia, poderíamos, deveria, "
    "acho, penso, creio, suponho, dúvida, dúvidas, pergunta, perguntar, pergunte, verificar, conferir, ver, "
    "recebido, lido, anotado, entendido, ciente, tomei nota, certo, parcial, parcialmente, metade, só, "
    "somente, apenas, melhor, cancela, cancelar, cancele, erro, engano, ignore, esquece, na verdade, depende, "
    "por que, porquê, quem, o quê, não sei, outra pessoa, pois, pois não, pois é, ainda, ainda não, agora "
    "não, sei lá, tanto faz",
    later="amanhã, mais tarde, segunda, terça, quarta, quinta, sexta, próxima semana, semana que vem, melhor, "
    "esperemos, até",
    negation="não, nao, nunca, jamais, nenhum, nenhuma, ninguém, nada, sem, nem",
    harmless="o mais rápido possível, o quanto antes, assim que possível, assim que puder, assim que puderem, "
    "se faz favor, faz favor, se faz o favor, sem problema, sem problemas, não há problema, nenhum problema, "
    "sem objeções, sem objeção, por que não, para mim, não tem problema, nada contra, nada a opor",
    refrain="agora não, hoje não, ainda não, não agora, não hoje, hoje à noite não, não faça, não façam, não "
    "avance, não avancem, não aprovo, não aprovar, não implantar, não implante, não implantem, não "
    "implementar, não reembolsar, não reembolse, não faça o deploy, não publicar, não autorizo, não concordo, "
    "não prossiga, não prossigam",
    lead_in="eu, por favor, escolho, prefiro, voto em, voto por, opção, a opção, número, o número, resposta, "
    "minha resposta, a minha resposta, minha resposta é, a minha resposta é, minha escolha, a minha escolha, "
    "minha escolha é, a minha escolha é, decisão, então, ok, okay, olá, oi, fico com, vamos com, vamos de, "
    "pode ser a, região, obrigado, obrigada, quero, a",
    subject="reembolso, o reembolso, pedido, o pedido, solicitação, a solicitação, encomenda, a encomenda, "
    "pagamento, o pagamento, estorno, o estorno, implantação, a implantação, deploy, o deploy",
    filler="o, os, as, isso, isto, agora, já, tudo, o reembolso, reembolso, o pedido, a encomenda, o "
    "pagamento, a solicitação, o deploy, a implantação, da minha parte, por mim, imediatamente, hoje, em "
    "produção, pode implantar, implantem, pode publicar, podem publicar, reembolsar, reembolse, reembolsem, "
    "pode reembolsar, fazer o deploy, pode fazer o deploy",
    polite="se faz favor, faz favor, por favor, obrigado, obrigada, muito obrigado, muito obrigada, obg, "
    "grato, grata, cumprimentos, abraço, abraços",
    because="porque, pois que, já que, visto que, devido a, uma vez que",
    greeting="olá, oi, bom dia, boa tarde, boa noite, caro, cara, caros, prezado, prezada, prezados, viva",
    farewell="cumprimentos, melhores cumprimentos, com os melhores cumprimentos, atenciosamente, att, "
    "atentamente, abraço, abraços, um abraço, obrigado, obrigada, muito obrigado, muito obrigada, "
    "cordialmente, saudações, grato, grata, abs, obrigado e cumprimentos",
    true="verdadeiro",
    false="falso",
)
