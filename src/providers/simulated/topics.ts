/** Words that say nothing about what somebody asks for. */
const STOPWORDS = new Set(
  (
    'about above after again against also although always another answer anything around away back because ' +
    'been before being below best better between both bring call cannot come compare compared could describe ' +
    'difference does doing done down during each either else ever every explain find first five four from ' +
    'further gets give given gives goes going good great have having hello help here hers himself into invent ' +
    'itself just keep kind know last least less like list look make makes many maybe mean might more most much ' +
    'must myself name need needs never next none nothing only onto other others ought ours over paragraph ' +
    'please question quite rather really said same says second seem sentence sentences several shall short ' +
    'should show since some someone something start such summarise summarize take taking tell than thank ' +
    'thanks that their theirs them then there these they thing things think this those three through today ' +
    'together under until upon used using very want wants well were what when where whether which while whose ' +
    'will with within without word words work works worth would write your yours'
  ).split(' '),
);

/** Topics that an answer takes up at most. */
const MOST_TOPICS = 12;
const LONGEST_TOPIC = 40;
/** How far into a long message its topics are looked for. */
const SEARCHED = 20_000;
const WORD = /[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}'-]*[\p{L}\p{M}\p{N}])?/gu;
const ABBREVIATION = /^\p{Lu}[\p{Lu}\p{N}]+$/u;

/** The words of a question that are worth repeating, in the order in which they come: long ones and abbreviations. */
export function topicsOf(question: string): readonly string[] {
  const topics = new Map<string, string>();
  for (const [word] of question.slice(0, SEARCHED).matchAll(WORD)) {
    const folded = word.toLowerCase();
    if (STOPWORDS.has(folded) || folded.startsWith('simulat') || word.length > LONGEST_TOPIC) continue;
    const isLong = word.length >= 4 && !word.includes("'") && /\p{L}/u.test(word);
    if (isLong || ABBREVIATION.test(word)) topics.set(folded, topics.get(folded) ?? word);
    if (topics.size === MOST_TOPICS) break;
  }
  return [...topics.values()];
}

/** The first name in a question: a word with a capital that does not begin a sentence. */
export function properNounOf(question: string): string | undefined {
  return /(?<=[\p{L}\p{N},;:] )\p{Lu}[\p{L}\p{M}'-]+(?: \p{Lu}[\p{L}\p{M}'-]+)*/u.exec(
    question.slice(0, SEARCHED),
  )?.[0];
}
