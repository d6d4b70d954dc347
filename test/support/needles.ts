import { mostTokens } from '../../src/core/tokens/token-ceiling.ts';
import { countMessage } from '../../src/plugins/context-compression/count-message.ts';
import { relevant } from '../../src/plugins/context-compression/relevant.ts';
import type { Message } from '../../src/protocol/message.ts';
import { seededRandom } from '../../src/providers/simulated/chance.ts';

/** Facts in generated documents that a question is about: how many are still there after compression. */

/** Ways in which documents come into a prompt. */
export const PLACES = ['one message', 'a system prompt', 'a tool result', 'many messages'] as const;
export type Place = (typeof PLACES)[number];

const PLACE_NAMES = [
  'Harwick',
  'Lunden',
  'Oster',
  'Pellow',
  'Quarrin',
  'Redmere',
  'Saltby',
  'Tarn',
  'Ulver',
  'Wexcombe',
];
const THINGS = [
  'lighthouse',
  'reservoir',
  'foundry',
  'archive',
  'viaduct',
  'observatory',
  'granary',
  'ferry',
  'quarry',
];
const TRAITS = [
  ['capacity', 'How large is the capacity of the', 'units'],
  ['height', 'What height does the', 'metres'],
  ['staff', 'How many staff work at the', 'people'],
  ['budget', 'Which budget was given to the', 'thousand'],
  ['founding year', 'What is the founding year of the', ''],
  ['license number', 'Which license number was assigned to the', ''],
] as const;
const WORDS = (
  'committee report season weather visitor record council meeting road village market decision measure change winter ' +
  'summer project letter answer office region customer delivery machine service window garden station paper history ' +
  'question minister worker member letter evening morning number plan result system process support quality idea'
).split(' ');
const VERBS = ['discussed', 'mentioned', 'reviewed', 'described', 'announced', 'postponed', 'recorded', 'considered'];

interface Chance {
  readonly one: <Item>(items: readonly Item[]) => Item;
  readonly below: (limit: number) => number;
}

function chanceOf(seed: number): Chance {
  const random = seededRandom(seed);
  const below = (limit: number): number => Math.floor(random() * limit);
  return {
    below,
    one: (items) => {
      const item = items[below(items.length)];
      if (item === undefined) throw new RangeError('there is something to choose from');
      return item;
    },
  };
}

function filler({ one, below }: Chance, sentences: number): string {
  return Array.from({ length: sentences }, () => {
    const words = Array.from({ length: 6 + below(8) }, () => one(WORDS)).join(' ');
    return `The ${one(WORDS)} ${one(VERBS)} the ${words}.`;
  }).join(' ');
}

/** A fact about a thing in a place, and the question that it answers. */
interface Fact {
  readonly name: string;
  readonly trait: (typeof TRAITS)[number];
  readonly value: string;
}

/** Documents of several kinds, each with facts among what is of no interest. */
function documentsOf(
  chance: Chance,
  count: number,
): { readonly documents: readonly string[]; readonly facts: readonly Fact[] } {
  const { below } = chance;
  const facts: Fact[] = [];
  const names = PLACE_NAMES.flatMap((place) => THINGS.map((thing) => `${place} ${thing}`));
  const documents = Array.from({ length: count }, (_, index) => {
    const name = names.splice(below(names.length), 1)[0] ?? `Place ${index}`;
    const own = TRAITS.map((trait) => ({ name, trait, value: String(1_000 + below(900_000)) }));
    facts.push(...own);
    return below(3) === 0 ? retold(chance, own) : `## ${name}\n\n${bodyOf(chance, own)}`;
  });
  return { documents, facts };
}

/** Prose without a heading, in which the thing is named once and then only meant. */
function retold(chance: Chance, facts: readonly Fact[]): string {
  const [first] = facts;
  const opening = `People still speak of the ${first?.name ?? ''}. ${filler(chance, 1 + chance.below(3))}`;
  const told = facts.map(
    ({ trait, value }) => `Its ${trait[0]} was ${value} ${trait[2]}. ${filler(chance, 1 + chance.below(3))}`,
  );
  return `${opening} ${told.join(chance.one([' ', '\n\n']))}`;
}

function bodyOf(chance: Chance, facts: readonly Fact[]): string {
  const { one, below } = chance;
  switch (below(5)) {
    case 0: {
      const rows = facts.map(({ name, trait, value }) => `| ${name} | ${trait[0]} | ${value} | ${filler(chance, 1)} |`);
      return `${filler(chance, 4)}\n\n| Name | Measure | Value | Remark |\n|---|---|---|---|\n${rows.join('\n')}\n\n${filler(chance, 5)}`;
    }
    case 1: {
      const lines = facts.map(
        ({ name, trait, value }) =>
          `// ${filler(chance, 1)}\nexport const ${`${name} ${trait[0]}`.toUpperCase().replaceAll(' ', '_')} = ${value};`,
      );
      return `${filler(chance, 4)}\n\n\`\`\`ts\n${lines.join('\n\n')}\n\`\`\`\n\n${filler(chance, 5)}`;
    }
    case 2:
      return `${filler(chance, 3)}\n\n${facts.map(({ name, trait, value }) => `- The ${trait[0]} of the ${name}: ${value}. ${filler(chance, 2)}`).join('\n')}`;
    case 3:
      return JSON.stringify(
        facts.map(({ name, trait, value }) => ({ name, measure: trait[0], value, remark: filler(chance, 2) })),
      );
    default:
      return facts
        .map(
          ({ name, trait, value }) =>
            `${filler(chance, 2 + below(3))} The ${trait[0]} of the ${name} was ${value} ${trait[2]} that year. ${filler(chance, 2 + below(3))}`,
        )
        .join(one(['\n\n', '\n\n', '\n', ' ']));
  }
}

function promptOf(place: Place, documents: readonly string[], question: string): readonly Message[] {
  const text = documents.join('\n\n');
  switch (place) {
    case 'one message':
      return [
        { role: 'system', content: 'Answer from the documents.' },
        { role: 'user', content: `Use these documents.\n\n${text}\n\nQuestion: ${question}` },
      ];
    case 'a system prompt':
      return [
        { role: 'system', content: `You answer from these documents and from nothing else.\n\n${text}` },
        { role: 'user', content: question },
      ];
    case 'a tool result':
      return [
        { role: 'user', content: question },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'search', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'call_1', content: text },
      ];
    case 'many messages':
      return [...documents.map((content): Message => ({ role: 'user', content })), { role: 'user', content: question }];
  }
}

/** What came of the needles of some seeds. */
export interface Needles {
  /** Share of the facts that are still there with what they are about. */
  readonly kept: number;
  /** Share of the prompts that could not be compressed. */
  readonly refused: number;
  /** Share of the room that was used. */
  readonly used: number;
}

/** Compresses prompts of generated documents to a part of their length, each with a question about one fact. */
export function needlesKept(place: Place, part: number, seeds: readonly number[]): Needles {
  let [kept, refused, used] = [0, 0, 0];
  for (const seed of seeds) {
    const chance = chanceOf(seed);
    const { documents, facts } = documentsOf(chance, 12 + chance.below(20));
    const { name, trait, value } = chance.one(facts);
    const messages = promptOf(place, documents, `${trait[1]} ${name}${trait[0] === 'height' ? ' have' : ''}?`);
    const sizeOf = (message: Message) => countMessage(message, mostTokens, 1_600);
    const sizes = messages.map(sizeOf);
    const tokens = Math.floor(part * sizes.reduce((sum, size) => sum + size.tokens, 0));
    const result = relevant(messages, sizes, { tokens, messages: Infinity }, mostTokens);
    if (result === undefined) {
      refused += 1;
      continue;
    }
    used += result.messages.reduce((sum, message) => sum + sizeOf(message).tokens, 0) / tokens;
    if (JSON.stringify(result.messages).includes(value)) kept += 1;
  }
  const answered = Math.max(1, seeds.length - refused);
  return { kept: kept / seeds.length, refused: refused / seeds.length, used: used / answered };
}
