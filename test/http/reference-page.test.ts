import { describe, expect, it } from 'vitest';
import { httpReference } from '../../scripts/http-reference/page.ts';
import { EXAMPLES } from '../../src/http/openapi/examples.ts';
import { openApiDocument } from '../../src/http/openapi/text.ts';
import { openApiFault } from '../support/openapi.ts';
import { readProjectFile } from '../support/source-files.ts';

const { paths, info } = openApiDocument();
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    path,
    method,
    id: (operation as { operationId: string }).operationId,
  })),
);

describe('docs/http-api.md', () => {
  it('is what the OpenAPI document says; `npm run docs:http` writes it', () => {
    expect(readProjectFile('docs/http-api.md')).toBe(httpReference(openApiDocument()));
  });

  it('has a call of each path, and its answer', () => {
    const page = readProjectFile('docs/http-api.md');
    for (const { method, path } of operations) {
      const [, section = ''] = page.split(`### \`${method.toUpperCase()} ${path}\`\n`);
      expect(section.split('\n### ')[0], path).toMatch(/may call it[\s\S]*```sh\ncurl -s/);
    }
  });
});

describe('the examples of the OpenAPI document', () => {
  it('are there for every operation, but for the one that gives the document', () => {
    const ids = operations.map(({ id }) => id);
    expect(Object.keys(EXAMPLES).toSorted()).toEqual(ids.filter((id) => id !== 'getOpenApi').toSorted());
  });

  it.each(operations.filter(({ id }) => Object.hasOwn(EXAMPLES, id)))(
    'are answers as the schemas of their operation have them: $method $path',
    ({ method, path, id }) => {
      const { status, response } = EXAMPLES[id] ?? { status: 0, response: null };
      const text = typeof response === 'string' ? response : JSON.stringify(response);
      const { responses } = (paths[path]?.[method] ?? {}) as { responses?: Record<string, { content?: object }> };
      const [contentType] = Object.keys(responses?.[status]?.content ?? {});
      const fault = openApiFault({
        method: method.toUpperCase(),
        path: path.replaceAll(/\{\w+\}/g, 'x'),
        status,
        contentType,
        text,
      });
      expect(fault).toBeUndefined();
    },
  );

  it('are in the document, beside the version of the package', () => {
    const chat = JSON.stringify(paths['/chat/completions']);
    expect(chat).toContain('"example":{"model":"acme/small"');
    expect(chat).toContain('Green means go.');
    const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
    expect(info).toMatchObject({ version });
  });
});
