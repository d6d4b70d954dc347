/** Writes `docs/http-api.md` from the OpenAPI document. Usage: npm run docs:http */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { openApiDocument } from '../src/http/openapi/text.ts';
import { httpReference } from './http-reference/page.ts';

writeFileSync(fileURLToPath(new URL('../docs/http-api.md', import.meta.url)), httpReference(openApiDocument()));
