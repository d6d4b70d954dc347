import type { Catalog } from '../../catalog/catalog.ts';
import type { ToolContext } from '../../core/pipeline/server-tool.ts';
import { RouterError } from '../../errors.ts';
import type { JsonObject } from '../../protocol/json.ts';

/** The model of the catalog under a name, if it makes images. */
export function imageModel(catalog: Catalog, name: string): string | undefined {
  const model = catalog.find(name);
  return model !== undefined && makesImages(catalog, model) ? model : undefined;
}

/** The first model of the catalog that makes images. */
export function anyImageModel(catalog: Catalog): string | undefined {
  return [...catalog.models.keys()].find((model) => makesImages(catalog, model));
}

function makesImages(catalog: Catalog, model: string): boolean {
  return catalog.endpoints(model).some((endpoint) => endpoint.outputModalities?.has('image') === true);
}

/**
 * Has a chat model of this router make images.
 *
 * @throws {@link RouterError} when the call fails, or 502 when its answer has no image.
 */
export async function routerImages(
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
  const message = `${model} gave no image`;
  throw new RouterError({ status: 502, errorType: 'provider_unavailable', message });
}
