/** Words that are in nearly every question of some languages and say nothing about what it is about. */
export const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a about after all also am an and any are as at be because been before being between both but by can could did do ' +
    'does doing during each few for from had has have having he her here him his how i if in into is it its just me ' +
    'more most my no nor not now of off on once only or other our out over own please same she should so some such ' +
    'than that the their them then there these they this those through to too under until up us very was we were what ' +
    'when where which while who whom whose why will with would you your tell ' +
    'der die das den dem des ein eine einen einem einer und oder aber ist sind war waren wird werden wurde wurden hat ' +
    'haben von vom zu zum zur mit bei nach auf fur in im an am aus als wie was wer wo wann warum welche welcher welches ' +
    'nicht kein keine sich es er sie wir ihr ich du ' +
    'le la les un une des du de et ou est sont etait ont que qui quoi quel quelle quels quelles dans pour par sur avec ' +
    'au aux ce cette ces il elle ils elles je tu nous vous ne pas plus comment quand combien pourquoi ' +
    'el los las una unos unas y o es son fue eran ha han que quien cual cuales como cuando donde cuanto cuantos por ' +
    'para con sin en del al se su sus lo no mas ' +
    'il gli uno e di da che chi cosa quale quali quando dove perche nel nella dei delle della con si non ' +
    'os as um uma ao na nas nos dos das em foi qual quais onde quem nao ' +
    'het een van en dat op te zijn niet voor met aan om ook wat wie waar wanneer hoe ' +
    'и в во не что он на я с со как а то все она так его но ты к у же вы за бы по ее мне было вот от меня о из ему кто ' +
    'где когда какой какая какие почему сколько был была были это для'
  ).split(' '),
);
