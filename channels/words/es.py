"""Spanish. "Si" without its accent is also "if": it says yes only where the phrase leaves no other reading."""

from channels.words.language import Words

WORDS = Words(
    yes="sí, sip, claro, claro que sí, por supuesto, por supuesto que sí, vale, de acuerdo, estoy de acuerdo, "
    "adelante, dale, sí adelante, si adelante, si claro, si por favor, si gracias, sí por favor, hazlo, "
    "hágalo, háganlo, desde luego, procede, proceda, procedan, proceder, puede proceder, puedes proceder, me "
    "parece bien, visto bueno, sí señor",
    no="no, no gracias, claro que no, por supuesto que no, para nada, de ninguna manera, no estoy de acuerdo, "
    "en absoluto, ni hablar, no lo hagas, no lo haga",
    approve="aprobado, aprobada, aprobar, apruebo, lo apruebo, se aprueba, aprobad, apruébalo, apruébelo, "
    "aprueba, queda aprobado, queda aprobada, está aprobado",
    accept="aceptado, aceptada, aceptar, acepto, lo acepto, se acepta",
    confirm="confirmado, confirmada, confirmar, confirmo, lo confirmo",
    allow="autorizado, autorizada, autorizar, autorizo, lo autorizo, permitido, permitir, permito",
    deny="denegado, denegada, denegar, deniego, lo deniego, rechazado, rechazada, rechazar, rechazo, lo "
    "rechazo, se rechaza, rechazamos, declinado, declinar, declino, no aprobado, no aprobada, no apruebo, no "
    "lo apruebo, no se aprueba, no aprobar, no autorizado, no autorizo",
    claim="lo miro, lo miro yo, lo miro ahora, lo miro yo ahora, ahora lo miro, me encargo, yo me encargo, me "
    "encargo yo, me ocupo, yo me ocupo, me ocupo yo, estoy en ello, lo estoy mirando, lo miro, lo reviso, lo "
    "estoy revisando, voy a revisarlo, ahora lo miro, ya lo miro, yo lo veo, lo veo yo, estoy con ello, lo "
    "tomo yo, yo lo tomo, me pongo con ello",
    doubt="en cuanto, tan pronto, una vez, tras, mientras, no, nunca, jamás, ningún, ninguno, ninguna, nada, "
    "sin, pero, sino, si, salvo, excepto, a menos, hasta, esperar, espera, espere, esperad, esperemos, un "
    "momento, parar, primero, antes, después, luego, más tarde, mañana, pronto, lunes, martes, miércoles, "
    "jueves, viernes, semana que viene, próxima semana, quizá, quizás, tal vez, puede que, posiblemente, "
    "probablemente, a lo mejor, siempre que, con tal, cuando, siempre y cuando, a condición, aunque, sin "
    "embargo, podría, podríamos, debería, creo, pienso, supongo, duda, dudas, pregunta, preguntar, "
    "pregúntale, consultar, revisar, reviso, revisa, comprobar, mirar, bueno, recibido, leído, anotado, "
    "entendido, enterado, tomo nota, parcial, parcialmente, mitad, solo, sólo, solamente, mejor, cancela, "
    "cancelar, error, ignora, olvida, en realidad, depende, por qué, quién, qué, no sé, otra persona, ni "
    "idea, todavía, aún",
    later="mañana, más tarde, lunes, martes, miércoles, jueves, viernes, semana que viene, próxima semana, "
    "mejor, esperemos, hasta",
    negation="no, nunca, jamás, ningún, ninguno, ninguna, nada, sin, ni",
    harmless="lo antes posible, cuanto antes, tan pronto como sea posible, en cuanto puedas, en cuanto "
    "podáis, en cuanto puedan, lleva esperando, se entregó, se pagó, se envió, se recibió, se devolvió, se "
    "reembolsó, se canceló, se probó, ya se, no hay problema, ningún problema, sin problema, sin problemas, "
    "no hay inconveniente, sin objeciones, para mí, sin ningún problema, por qué no, no tengo objeciones, no "
    "hay objeciones, sin inconveniente",
    refrain="ahora no, hoy no, todavía no, aún no, no ahora, no hoy, esta noche no, no lo hagas, no lo haga, "
    "no desplegar, no despliegues, no desplieguen, no despleguéis, no reembolsar, no aprobar, no lo apruebo, "
    "no apruebo, no proceder, no se aprueba, no autorizo, no lo autorizo, no procede, no lo desplieguen, no "
    "lo despliegues, no estoy de acuerdo",
    lead_in="yo, por favor, elijo, escojo, prefiero, voto por, opción, la opción, número, el número, "
    "respuesta, mi respuesta, mi respuesta es, mi elección, mi elección es, decisión, mi decisión, pues, ok, "
    "okay, hola, me quedo con, vamos con, que sea, la, el, región, gracias, quiero, elegimos, nos quedamos "
    "con",
    subject="reembolso, el reembolso, devolución, la devolución, solicitud, la solicitud, pedido, el pedido, "
    "pago, el pago, despliegue, el despliegue",
    filler="lo, la, el, los, las, esto, eso, ahora, ahora mismo, ya, todo, el reembolso, reembolso, la "
    "solicitud, el pedido, el pago, la devolución, devolución, el despliegue, desplegar, despliega, "
    "desplieguen, despliégalo, por mi parte, para mí, de inmediato, inmediatamente, hoy, a producción, "
    "reembolsar, reembolsad, reembolsen, devolver",
    polite="por favor, gracias, muchas gracias, mil gracias, gracias de antemano, saludos, un saludo",
    because="porque, ya que, puesto que, debido a, dado que",
    greeting="hola, buenos días, buenas tardes, buenas noches, buenas, buen día, estimado, estimada, "
    "estimados, querido",
    farewell="saludos, un saludo, saludos cordiales, un cordial saludo, cordialmente, atentamente, gracias, "
    "muchas gracias, gracias y saludos, un abrazo, atte, reciba un cordial saludo, gracias de antemano",
    true="verdadero, cierto",
    false="falso",
)
