/** Writes the OpenAPI document into the package, as `npm run build` does. */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openApiDocument } from '../src/http/openapi/text.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const file = fileURLToPath(new URL('../dist/openapi.json', import.meta.url));
writeFileSync(file, `${JSON.stringify(openApiDocument(version), null, 1)}\n`);
