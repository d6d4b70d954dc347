/** The patterns by which prompt injection is recognised. */

/** Words of which one must be at this place of a pattern; `*` at the end stands for any ending. */
type Slot = readonly string[];

/** An attempt to take over a model, as words in a row with a few others between them. */
export interface InjectionPattern {
  readonly name: string;
  /** Words in order; each number says how many other words may be between its neighbours. */
  readonly shape: readonly (Slot | number)[];
}

const IGNORE: Slot = [
  'ignore',
  'ignoring',
  'disregard*',
  'forget',
  'override',
  'overriding',
  'bypass',
  'neglect',
  'discard',
];
const EARLIER: Slot = [
  'previous',
  'previously',
  'prior',
  'above',
  'earlier',
  'preceding',
  'all',
  'any',
  'your',
  'system',
  'original',
  'initial',
  'former',
  'existing',
];
const RULES: Slot = [
  'instruction',
  'instructions',
  'prompt',
  'prompts',
  'rule',
  'rules',
  'direction',
  'directions',
  'directive',
  'directives',
  'guideline',
  'guidelines',
  'command',
  'commands',
  'constraint',
  'constraints',
  'programming',
];
const SAFETY: Slot = ['safety', 'content', 'ethical', 'moral', 'security', 'moderation'];
const LIMITS: Slot = [
  'filter',
  'filters',
  'guideline',
  'guidelines',
  'restriction',
  'restrictions',
  'policy',
  'policies',
  'limitation',
  'limitations',
  'guardrail',
  'guardrails',
  'protocol',
  'protocols',
  'measures',
];

/** What is looked for, by name. The names are in errors and stages. */
export const INJECTION_PATTERNS: readonly InjectionPattern[] = [
  { name: 'ignore_instructions', shape: [IGNORE, 3, EARLIER, 3, RULES] },
  {
    name: 'ignore_instructions',
    shape: [['pay', 'do'], 1, ['no', 'not'], 2, ['attention', 'follow', 'obey'], 2, EARLIER, 3, RULES],
  },
  {
    name: 'reveal_instructions',
    shape: [
      ['reveal', 'show', 'print', 'display', 'output', 'repeat', 'leak', 'expose', 'dump', 'disclose', 'recite'],
      4,
      ['system', 'hidden', 'initial', 'secret', 'original', 'internal', 'developer'],
      0,
      ['prompt', 'prompts', 'instruction', 'instructions', 'message', 'rules'],
    ],
  },
  {
    name: 'reveal_instructions',
    shape: [
      ['what'],
      2,
      ['your'],
      1,
      ['system', 'hidden', 'initial', 'original', 'secret'],
      0,
      ['prompt', 'instruction', 'instructions'],
    ],
  },
  {
    name: 'new_instructions',
    shape: [
      ['your'],
      0,
      ['new', 'real', 'true', 'actual'],
      0,
      ['instructions', 'rules', 'objective', 'goal', 'role'],
      0,
      ['are', 'is'],
    ],
  },
  {
    name: 'role_override',
    shape: [
      ['you'],
      0,
      ['are'],
      0,
      ['now'],
      2,
      ['dan', 'unrestricted', 'unfiltered', 'uncensored', 'jailbroken', 'developer', 'root', 'admin', 'free'],
    ],
  },
  {
    name: 'role_override',
    shape: [
      ['from'],
      0,
      ['now'],
      0,
      ['on'],
      1,
      ['you'],
      1,
      ['act', 'answer', 'respond', 'behave', 'are'],
      3,
      ['dan', 'unrestricted', 'unfiltered', 'uncensored', 'jailbroken', 'without'],
    ],
  },
  { name: 'jailbreak', shape: [['do'], 0, ['anything'], 0, ['now']] },
  {
    name: 'jailbreak',
    shape: [
      ['developer', 'dan', 'jailbreak', 'god', 'sudo'],
      0,
      ['mode'],
      1,
      ['enabled', 'enable', 'on', 'activated', 'activate', 'output'],
    ],
  },
  {
    name: 'jailbreak',
    shape: [
      ['enable', 'activate', 'enter', 'switch'],
      2,
      ['developer', 'dan', 'jailbreak', 'god', 'sudo'],
      0,
      ['mode'],
    ],
  },
  {
    name: 'drop_safety',
    shape: [['without', 'ignore', 'remove', 'disable', 'bypass', 'override', 'circumvent'], 3, SAFETY, 1, LIMITS],
  },
  {
    name: 'drop_safety',
    shape: [
      ['pretend', 'act', 'behave', 'respond', 'answer', 'roleplay'],
      5,
      ['no', 'without'],
      1,
      ['restrictions', 'rules', 'limits', 'filters', 'guidelines', 'limitations'],
    ],
  },
  {
    name: 'exfiltrate',
    shape: [
      ['send', 'post', 'upload', 'forward', 'exfiltrate', 'transmit'],
      4,
      ['conversation', 'history', 'secrets', 'credentials', 'password', 'passwords', 'keys', 'tokens'],
      3,
      ['to'],
      2,
      ['http', 'https', 'url', 'webhook', 'server', 'endpoint'],
    ],
  },
  {
    name: 'ignore_instructions',
    shape: [
      ['ignoriere', 'ignorieren', 'vergiss', 'missachte', 'missachten'],
      4,
      ['anweisung', 'anweisungen', 'instruktionen', 'regeln', 'vorgaben'],
    ],
  },
  {
    name: 'ignore_instructions',
    shape: [
      ['ignore', 'ignorez', 'ignorer', 'oublie', 'oubliez'],
      4,
      ['consignes', 'regles', 'directives'],
      2,
      ['precedentes', 'anterieures', 'initiales', 'dessus'],
    ],
  },
  { name: 'ignore_instructions', shape: [['oublie', 'oubliez', 'ignorez'], 4, ['instructions']] },
  {
    name: 'ignore_instructions',
    shape: [['ignora', 'ignore', 'olvida', 'olvide', 'ignorar'], 4, ['instrucciones', 'indicaciones', 'reglas']],
  },
];

/** Marks of chat templates that have no business in what a user says; in small letters. */
export const TEMPLATE_MARKS: readonly string[] = [
  '<|im_start|>',
  '<|im_end|>',
  '<|endoftext|>',
  '<|system|>',
  '<|assistant|>',
  '<|start_header_id|>',
  '<|eot_id|>',
  '<<sys>>',
  '<</sys>>',
  '[inst]',
  '[/inst]',
  '[system](#',
];
