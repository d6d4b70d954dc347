/** The server tool `router:image_generation`. */
import { checkShape } from '../../platform/check-options.ts';
import { milliseconds, type OptionShape, withFunctions } from '../../options/values.ts';
import type { ServerToolDefinition, ToolContext, ToolOutcome } from '../../contracts/server-tool.ts';
import { defineServerTool } from '../../core/pipeline/define-plugin.ts';
import type { JsonObject } from '../../protocol/json.ts';
import { mayUse } from '../../core/normalize/preset.ts';
import { shortened } from '../../protocol/fault.ts';
import { parseImageOptions } from '../../protocol/server-tool-options.ts';
import { readEnvironment } from '../../platform/environment.ts';
import { reasonOfFailure } from '../services/inner-call/helper-model.ts';
import type { GeneratedImages, ImageGenerator } from '../../contracts/plugin-services.ts';
import { openaiImages } from './openai-images.ts';
import type { Catalog } from '../../catalog/catalog.ts';
import { errorOf, type RouterError } from '../../protocol/router-error.ts';

/** Options of {@link imageGenerationTool}. */
export interface ImageGenerationToolOptions {
  /**
   * Service that makes images. Models of this router that make images need none. Default: OpenAI's images API when
   * `OPENAI_API_KEY` is in the environment.
   */
  readonly generator?: ImageGenerator | undefined;
  /** Milliseconds that one call may take. Default 200,000. */
  readonly timeoutMs?: number | undefined;
}

const OPTIONS: OptionShape<ImageGenerationToolOptions> = {
  generator: withFunctions('a service that makes images, such as openaiImages() makes one', 'generate'),
  timeoutMs: milliseconds,
};

/** What a request says about `router:image_generation`: a model, and options that go to it as they are. */
export interface ImageGenerationOptions {
  readonly model?: string | undefined;
  readonly [option: string]: unknown;
}

/**
 * The server tool `router:image_generation` (gaps 2.1): the model describes an image, and a model that makes images
 * makes it. A model of this router is called through the router; any other name goes to the service. Images come in
 * `message.images`; the model reads where, not the bytes.
 */
export function imageGenerationTool(
  options: ImageGenerationToolOptions = {},
): ServerToolDefinition<ImageGenerationOptions> {
  checkShape(OPTIONS, options, 'imageGenerationTool');
  const generator = options.generator ?? generatorFromEnvironment();
  return defineServerTool<ImageGenerationOptions>({
    type: 'router:image_generation',
    timeoutMs: options.timeoutMs ?? 200_000,
    parseOptions: parseImageOptions,
    describe: () => ({
      description: 'Makes an image from a description. The user sees it below your answer: do not repeat its address.',
      parameters: {
        type: 'object',
        properties: { prompt: { type: 'string', description: 'What the image shows, in detail' } },
        required: ['prompt'],
        additionalProperties: false,
      },
    }),
    async execute({ prompt }, requestedOptions, context) {
      if (typeof prompt !== 'string' || prompt.trim() === '') return failed('prompt must be a non-empty string');
      try {
        const images = await generate(prompt, requestedOptions, generator, context);
        return images === undefined ? failed(NOBODY) : made(images);
      } catch (thrown) {
        context.signal.throwIfAborted();
        return failed(reasonOfFailure(thrown));
      }
    },
    async close() {
      await generator?.close?.();
    },
  });
}

const NOBODY =
  'This router cannot make images: it has no model that does and no image service. Its operator can declare a model ' +
  'with outputModalities: ["image"], set OPENAI_API_KEY, or pass a generator to imageGenerationTool()';

/** Asks whoever makes images under this name; undefined when nobody does. */
async function generate(
  prompt: string,
  { model: named, ...requestedOptions }: ImageGenerationOptions,
  generator: ImageGenerator | undefined,
  context: ToolContext,
): Promise<GeneratedImages | undefined> {
  const { catalog, signal, request } = context;
  const options = requestedOptions as JsonObject;
  const isAllowed = (model: string): boolean => mayUse(request.preferences, model);
  if (named !== undefined && !isAllowed(named)) throw notAllowed(named);
  const own = named === undefined ? undefined : imageModel(catalog, named);
  if (own === undefined && generator !== undefined) {
    return generator.generate({ prompt, model: named?.replace(/^openai\//, ''), options, signal });
  }
  const model = own ?? (named === undefined ? anyImageModel(catalog, isAllowed) : undefined);
  return model === undefined ? undefined : { urls: await routerImages(model, prompt, options, context) };
}

function made({ urls, cost }: GeneratedImages): ToolOutcome {
  const places = urls.map((url) => (url.startsWith('data:') ? SHOWN : url));
  return {
    result: { status: 'ok', imageUrl: places[0] ?? SHOWN, ...(places.length > 1 ? { imageUrls: places } : {}) },
    images: urls.map((url) => ({ type: 'image_url', image_url: { url } })),
    ...(cost === undefined ? {} : { used: { cost } }),
  };
}

/** In the place of megabytes of data, which no model could read and every further turn would pay for. */
const SHOWN = 'attached to the answer';

function failed(error: string): ToolOutcome {
  return { result: { status: 'error', error } };
}

function generatorFromEnvironment(): ImageGenerator | undefined {
  const apiKey = readEnvironment('OPENAI_API_KEY');
  return apiKey === undefined ? undefined : openaiImages({ apiKey, baseURL: readEnvironment('OPENAI_BASE_URL') });
}

/** The model of the catalog under a name, if it makes images. */
function imageModel(catalog: Catalog, name: string): string | undefined {
  const model = catalog.find(name);
  return model !== undefined && makesImages(catalog, model) ? model : undefined;
}

/** The first model of the catalog that makes images and may be used. */
function anyImageModel(catalog: Catalog, isAllowed: (model: string) => boolean): string | undefined {
  return [...catalog.models.keys()].find((model) => isAllowed(model) && makesImages(catalog, model));
}

/** The model lists of an account are also for what only the image service knows. */
function notAllowed(model: string): RouterError {
  return errorOf(403, `This account may not use ${shortened(model)}`);
}

function makesImages(catalog: Catalog, model: string): boolean {
  return catalog.endpoints(model).some((endpoint) => endpoint.outputModalities?.has('image') === true);
}

/**
 * Has a chat model of this router make images.
 *
 * @throws {@link RouterError} when the call fails, or 502 when its answer has no image.
 */
async function routerImages(
  model: string,
  prompt: string,
  options: JsonObject,
  context: ToolContext,
): Promise<readonly string[]> {
  const writes = context.catalog.endpoints(model).some((endpoint) => endpoint.outputModalities?.has('text') === true);
  const { choices } = await context.call({
    model,
    messages: [{ role: 'user', content: prompt }],
    modalities: writes ? ['image', 'text'] : ['image'],
    ...(Object.keys(options).length === 0
      ? {}
      : { image_config: options as Readonly<Record<string, string | number>> }),
  });
  const urls = (choices[0]?.message.images ?? []).map((image) => image.image_url.url);
  if (urls.length > 0) return urls;
  throw errorOf(502, `${model} gave no image`);
}
