/**
 * How providers say that they do not take a word of a request, with its name. One table for all: servers pass on the words of
 * others, so what a vendor says is heard from proxies of it as well.
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
  /** Where the wording was seen. */
  readonly source: string;
}

const NAME = `["'\`]?(?<word>[A-Za-z]\\w*(?:\\.\\w+)*)["'\`]?`;

/** Wordings about parameters and fields of a request. */
export const REFUSED_WORDS: readonly RefusedWording[] = [
  {
    // Which of two is left is the provider's own advice, or the first.
    vendor: 'Anthropic',
    message: new RegExp(`${NAME.replace('word', 'other')} and ${NAME} cannot both be (?:specified|set|used)`, 'i'),
    source: 'hermes#78305, 2026-11',
  },
  {
    vendor: 'OpenAI, Google, frameworks of servers',
    message: new RegExp(
      `(?:unsupported|unknown|unrecognized|unexpected|unrecognised|invalid|extra) (?:request )?(?:parameter|argument|field|keyword argument|name|property|option)s?(?: supplied)?:? ${NAME}`,
      'i',
    ),
    source: 'qwen-code#921, OpenHands sdk#1837, 9router#536, 2026-11',
  },
  {
    vendor: 'xAI',
    message: new RegExp(
      `does(?: not|n't) (?:support|accept|take|allow) (?:the )?(?:parameter|argument|option|field) ${NAME}`,
      'i',
    ),
    source: 'chatwise-releases#515, 2026-11',
  },
  {
    vendor: 'Anthropic, Groq, frameworks of servers',
    message: new RegExp(
      `${NAME}:? (?:extra inputs are not permitted|(?:is|are) (?:not|no longer) (?:permitted|supported|allowed|available)|is deprecated|is unsupported)`,
      'i',
    ),
    source: 'docs.claude.com/en/api/errors; hermes-agent#23435, 2026-11',
  },
  {
    vendor: 'OpenAI',
    message: new RegExp(`unsupported value: ${NAME} does not support`, 'i'),
    source: 'opencode#4451, 2026-11',
  },
  {
    vendor: 'DeepSeek, Mistral',
    message: new RegExp(`${NAME} must be one of`, 'i'),
    source: 'llmgateway#3879, 2026-11',
  },
  {
    vendor: 'Mistral, local servers',
    message: new RegExp(`(?:model|it) does(?: not|n't) support ${NAME}(?:\\.|,|$| with)`, 'i'),
    source: 'dust#29325, 2026-11',
  },
];

const WORD = `["'\`]?(?<word>[$A-Za-z]\\w*)["'\`]?`;
const SCHEMA = '(?:schema|response_?format|parameters|tools?\\b)';

/** Wordings about words of JSON Schema. The group `word` may hold several, with commas between them. */
export const REFUSED_SCHEMA_WORDS: readonly RefusedWording[] = [
  {
    vendor: 'Anthropic',
    message: new RegExp(
      `(?:propert(?:y|ies)|keywords?|fields?|attributes?):? (?<word>["'\`]?[$A-Za-z]\\w*["'\`]?(?:(?:, | and |, and )["'\`]?[$A-Za-z]\\w*["'\`]?)*) (?:is|are) not (?:supported|permitted|allowed)`,
      'i',
    ),
    source: 'litellm#34319, vercel/ai#14372, latitude#4676, 2026-11',
  },
  {
    vendor: 'OpenAI, Groq',
    message: new RegExp(`${SCHEMA}.{0,400}?${WORD} is not (?:permitted|supported|allowed)`, 'is'),
    source: 'langchainjs#9804, beeai-framework#1215, presenton#165, 2026-11',
  },
  {
    vendor: 'Google',
    message: new RegExp(`unknown name ${WORD} at '[^']*(?:parameters|schema)`, 'i'),
    source: 'pizza-bot#62, openswarm#24, zed#44875, 2026-11',
  },
  {
    vendor: 'Google, frameworks of servers',
    message: new RegExp(
      `${SCHEMA}.{0,400}?(?:unsupported|unknown|unrecognized|unexpected) (?:schema )?(?:keyword|field|property|attribute):? ${WORD}`,
      'is',
    ),
    source: 'googleapis/python-aiplatform#4510, vllm#16880, 2026-11',
  },
  {
    vendor: 'local servers',
    message: new RegExp(
      `(?:unsupported|unknown|unrecognized) (?:json[ -]?)?schema (?:keyword|word|field):? ${WORD}`,
      'i',
    ),
    source: 'vllm#16880, 2026-11',
  },
];
