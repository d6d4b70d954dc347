/** Writes the OpenAPI document into the package, as `npm run build` does. */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openApiDocument } from '../src/http/openapi/text.ts';

const file = fileURLToPath(new URL('../dist/openapi.json', import.meta.url));
writeFileSync(file, `${JSON.stringify(openApiDocument(), null, 1)}\n`);
