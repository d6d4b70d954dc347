/** Writes the OpenAPI document. */
import type { Spelling } from '../spelling.ts';
import { componentSchemas } from './component-schemas.ts';
import { VERSION } from '../../platform/documentation.ts';
import { withExample } from './examples.ts';
import { DOCUMENTED } from './operations.ts';
import { errorResponses, HEADERS } from './responses.ts';

const TEXTS = new Map<string, string>();

/** The document as JSON, with the member for metadata under the name that it has in answers. Made once per name. */
export function openApiText({ metadataField }: Pick<Spelling, 'metadataField'>): string {
  let text = TEXTS.get(metadataField);
  if (text === undefined) {
    text = JSON.stringify(openApiDocument()).replaceAll('"router_metadata":', `"${metadataField}":`);
    TEXTS.set(metadataField, text);
  }
  return text;
}

/** An OpenAPI 3.1 document, as far as its readers here look into it. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: object;
  readonly servers: readonly object[];
  readonly security: readonly object[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, object>>>>;
  readonly components: Readonly<Record<string, object>>;
}

/**
 * Makes the OpenAPI 3.1 document of everything that a router answers, from the schemas that requests are checked with.
 * Takes some 30 ms, so nobody makes it before it is requested. Members are spelled in the neutral way (gaps 0.2).
 *
 * @param version - That of the package. Default: the one that was built.
 */
export function openApiDocument(version: string = VERSION): OpenApiDocument {
  const paths: Record<string, Record<string, object>> = {};
  for (const { method, path, operation } of DOCUMENTED)
    paths[path] = { ...paths[path], [method]: withExample(operation) };
  return {
    openapi: '3.1.1',
    info: {
      title: 'Signalbox',
      version,
      description: 'A model router: one API, many providers. Answers may get new members in minor versions.',
      license: {
        name: 'MIT',
        identifier: 'MIT',
      },
    },
    servers: [{ url: '.' }],
    security: [{ bearer: [] }, { apiKey: [] }],
    paths,
    components: {
      schemas: componentSchemas(),
      responses: errorResponses(),
      headers: HEADERS,
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
        },
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'x-api-key',
        },
      },
    },
  };
}
