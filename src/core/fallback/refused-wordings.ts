/**
 * How providers say that they do not take a word of a request, with its name. One table for all: servers pass on the words of
 * others, so what a vendor says is heard from proxies of it as well. All are read from the beginning of a message, because
 * what comes later in it may repeat what a client sent.
 */

/** One such wording. */
export interface RefusedWording {
  /** Who words it so. */
  readonly vendor: string;
  /**
   * The group `word` is the name. Of two that exclude each other it is the one that is left out first, and `other` the
   * next.
   */
  readonly message: RegExp;
  /** True where it is the value that is refused, so that another value may be taken. */
  readonly isValue?: boolean;
  /** Where the wording was seen. */
  readonly source: string;
}

const NAME = `["'\`]?(?<word>[A-Za-z]\\w*(?:\\.\\w+)*)(?!\\w|\\.\\w)["'\`]?`;
/** What comes before the words of a provider: quotes, names of errors, what proxies put there. */
const LEAD = `^[\\s"'\`\\[({]*(?:provider returned (?:an )?error[:\\s]+)?(?:[A-Za-z.]{0,40}(?:error|exception)[\\s:-]+){0,3}`;
const PARAMETER = '(?:parameter|argument|field|keyword argument|name|property|option)';
/** A model in quotes, or with a digit or a slash in its name, so that it is no other word. */
const MODEL = `(?: (?:["'\`][\\w./:@-]{1,100}["'\`]|(?=[\\w.:@-]{0,60}[\\d/])[\\w./:@-]{1,100}))?`;

function wording(text: string): RegExp {
  return new RegExp(LEAD + text, 'i');
}

/** Wordings about parameters and fields of a request. */
export const REFUSED_WORDS: readonly RefusedWording[] = [
  {
    // Which of two is left is the provider's own advice, or the first.
    vendor: 'Anthropic',
    message: wording(`${NAME.replace('word', 'other')} and ${NAME} cannot both be (?:specified|set|used)`),
    source: 'hermes#78305, 2026-11',
  },
  {
    vendor: 'OpenAI',
    message: wording(`unsupported value: ${NAME} does not support ["'\`]?[\\w.-]{0,40}["'\`]?`),
    isValue: true,
    source: 'opencode#4451, 2026-11',
  },
  {
    vendor: 'OpenAI, Google, frameworks of servers',
    message: wording(
      `(?:invalid json payload(?: received)?\\. )?(?:unsupported|unknown|unrecognized|unexpected|unrecognised|invalid|extra) (?:request )?${PARAMETER}s?(?: supplied)?:? ${NAME}(?! at '(?!generation_config'))`,
    ),
    source: 'qwen-code#921, OpenHands sdk#1837, 9router#536, 2026-11',
  },
  {
    vendor: 'xAI',
    message: wording(
      `(?:(?:this |the )?(?:requested )?(?:model|endpoint|provider)${MODEL}|it|[\\w./:@-]{1,100}) does(?: not|n't) (?:support|accept|take|allow) (?:the )?(?:parameter|argument|option|field) ${NAME}`,
    ),
    source: 'chatwise-releases#515, 2026-11',
  },
  {
    vendor: 'Anthropic, Groq, frameworks of servers',
    message: wording(
      `(?:the )?(?:(?:request )?${PARAMETER} )?${NAME}:? (?:extra inputs are not permitted|(?:is|are) (?:not|no longer) (?:permitted|supported|allowed|available)|is deprecated|is unsupported)`,
    ),
    source: 'docs.claude.com/en/api/errors; hermes-agent#23435, 2026-11',
  },
  {
    vendor: 'Anthropic',
    message: wording(`${NAME}: ["'\`][\\w.-]{1,40}["'\`] is not (?:supported|permitted|allowed)`),
    isValue: true,
    source: 'docs.claude.com/en/api/errors, 2026-11',
  },
  {
    vendor: 'DeepSeek, Mistral',
    message: wording(`${NAME}(?= must be one of)`),
    isValue: true,
    source: 'llmgateway#3879, 2026-11',
  },
  {
    vendor: 'Mistral, local servers',
    message: wording(
      `(?:(?:this |the )?(?:requested )?model${MODEL}|it) does(?: not|n't) support ${NAME}(?=\\.|,|$| (?:with|for|when|while|in|if|on|together|unless|and)\\b)`,
    ),
    source: 'dust#29325, 2026-11',
  },
];

const WORD = `["'\`]?(?<word>[$A-Za-z]\\w*)["'\`]?`;
const SCHEMA = '(?:schema|response_?format|parameters|tools?\\b)';

/** Wordings about words of JSON Schema. The group `word` may hold several, with commas between them. */
export const REFUSED_SCHEMA_WORDS: readonly RefusedWording[] = [
  {
    vendor: 'Anthropic',
    message: wording(
      `(?:[\\w.]{1,200}: )?(?:for '\\w{1,20}' type, )?(?:propert(?:y|ies)|keywords?|fields?|attributes?):? (?<word>["'\`]?[$A-Za-z]\\w*["'\`]?(?:(?:, | and |, and )["'\`]?[$A-Za-z]\\w*["'\`]?)*) (?:is|are) not (?:supported|permitted|allowed)`,
    ),
    source: 'litellm#34319, vercel/ai#14372, latitude#4676, 2026-11',
  },
  {
    vendor: 'OpenAI, Groq',
    message: new RegExp(
      `${LEAD}(?:invalid |unsupported )?(?:json[ -]?)?${SCHEMA}.{0,400}?${WORD} is not (?:permitted|supported|allowed)`,
      'is',
    ),
    source: 'langchainjs#9804, beeai-framework#1215, presenton#165, 2026-11',
  },
  {
    vendor: 'Google',
    message: wording(
      `(?:invalid json payload(?: received)?\\. )?unknown name ${WORD} at '[^']{0,300}(?:parameters|schema)[^']{0,300}'`,
    ),
    source: 'pizza-bot#62, openswarm#24, zed#44875, 2026-11',
  },
  {
    vendor: 'Google, frameworks of servers',
    message: new RegExp(
      `${LEAD}(?:invalid )?(?:json[ -]?)?${SCHEMA}.{0,400}?(?:unsupported|unknown|unrecognized|unexpected) (?:schema )?(?:keyword|field|property|attribute):? ${WORD}`,
      'is',
    ),
    source: 'googleapis/python-aiplatform#4510, vllm#16880, 2026-11',
  },
  {
    vendor: 'local servers',
    message: wording(`(?:unsupported|unknown|unrecognized) (?:json[ -]?)?schema (?:keyword|word|field):? ${WORD}`),
    source: 'vllm#16880, 2026-11',
  },
];

const BETWEEN = `[\\s.,;:!()"'\`-]*`;
const EFFORT = '(?:none|minimal|low|medium|high|xhigh|max|default|null|auto)';
const VALUES = `(?:(?:supported|valid|allowed|accepted) values (?:are|is)|[\\w.]{1,60} must be one of|must be one of|expected one of)(?:[\\s,:"'\`]|and|or|${EFFORT})*`;

/** What may follow a refused word without making its refusal depend on anything but the endpoint. */
const UNCONDITIONAL = [
  '(?:is|are) (?:not|no longer) (?:supported|permitted|allowed|available|accepted)',
  'is unsupported',
  'is deprecated',
  'extra inputs are not permitted',
  'cannot find field',
  `at 'generation_config'`,
  `(?:with|for|by|on|in|at) (?:(?:this|the|that|your|our) )?(?:(?:selected|requested|specified|current) )?(?:model|endpoint|deployment|provider|api|server|backend)\\b${MODEL}`,
  'currently|at this time|at the moment|anymore|any more|yet',
  `(?:please )?use ["'\`]?\\w{1,40}["'\`]? instead`,
  'only the default (?:\\([^()]{0,20}\\) )?value is supported',
  VALUES,
  `(?:please )?(?:remove|omit|drop) (?:it|this|that|the)?(?: ${PARAMETER})?(?: from (?:your|the) request)?(?: and (?:try again|retry))?`,
  'request[ _]?id[: ]+[\\w-]{1,80}',
];

/**
 * The rest of a message that names no condition, from its beginning to its end. Any other words may be one: a
 * server refuses `logprobs` "with tools + stream" and takes them otherwise, and no list of such words is complete.
 */
export const NO_CONDITION = new RegExp(`^(?:${BETWEEN}(?:${UNCONDITIONAL.join('|')})(?!\\w))*${BETWEEN}$`, 'i');

/** Says that one value is taken, or some, and no other. */
export const OTHER_VALUES =
  /only the default|(?:supported|valid|allowed|accepted) values|must be one of|expected one of/i;
