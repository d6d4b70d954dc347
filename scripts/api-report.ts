import { CompilerState, Extractor, ExtractorConfig, type IConfigFile } from '@microsoft/api-extractor';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Writes the public surface of every door to `etc/`, so that a change of it shows in a review. With `--check` it writes
 * nothing and fails when a report no longer fits. In both cases every export must have a comment. With
 * `--models <folder>` it writes what `npm run docs` makes the API reference of, and no report. Needs a build.
 * Usage: npm run api | npm run check:api
 */
const root = fileURLToPath(new URL('..', import.meta.url));
const models = process.argv[process.argv.indexOf('--models') + 1];
const writesModels = process.argv.includes('--models') && models !== undefined;
const checks = process.argv.includes('--check') || writesModels;

interface Manifest {
  readonly exports: Readonly<Record<string, string | { readonly types?: string }>>;
}

/** Every door that has types, with the name of its report. */
function doors(): readonly { readonly name: string; readonly types: string }[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest;
  return Object.entries(exports).flatMap(([door, target]) => {
    if (typeof target === 'string' || target.types === undefined) return [];
    return [{ name: door === '.' ? 'signalbox' : door.slice(2), types: join(root, target.types) }];
  });
}

function configOf(name: string, types: string, temporary: string): ExtractorConfig {
  const quiet = { default: { logLevel: 'none' } } as NonNullable<
    NonNullable<IConfigFile['messages']>['compilerMessageReporting']
  >;
  const compilerOptions = {
    target: 'es2023',
    module: 'nodenext',
    moduleResolution: 'nodenext',
    lib: ['es2023', 'dom'],
    types: ['node'],
    strict: true,
    skipLibCheck: true,
  };
  return ExtractorConfig.prepare({
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: types,
      newlineKind: 'lf',
      compiler: { overrideTsconfig: { compilerOptions, files: doors().map((door) => door.types) } },
      apiReport: {
        enabled: !writesModels,
        reportFileName: `${name}.api.md`,
        reportFolder: join(root, 'etc'),
        reportTempFolder: temporary,
      },
      docModel: { enabled: writesModels, apiJsonFilePath: join(models ?? temporary, name, 'signalbox.api.json') },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: { compilerMessageReporting: quiet, extractorMessageReporting: quiet, tsdocMessageReporting: quiet },
    },
    packageJsonFullPath: join(root, 'package.json'),
    configObjectFullPath: undefined,
  });
}

/** Exports that say nothing about themselves. */
function withoutComment(name: string): readonly string[] {
  const report = readFileSync(join(root, 'etc', `${name}.api.md`), 'utf8');
  return [...report.matchAll(/^\/\/ @\w+ \(undocumented\)\n(.*)$/gm)].map(([, line]) => `  ${name}: ${line}`);
}

const temporary = mkdtempSync(join(tmpdir(), 'signalbox-api-'));
try {
  const configs = doors().map(({ name, types }) => ({ name, config: configOf(name, types, temporary) }));
  const [first] = configs;
  if (first === undefined) throw new Error('No door has types');
  const additionalEntryPoints = configs.map(({ config }) => config.mainEntryPointFilePath);
  const compilerState = CompilerState.create(first.config, { additionalEntryPoints });
  const changed: string[] = [];
  const undocumented: string[] = [];
  for (const { name, config } of configs) {
    const { apiReportChanged } = Extractor.invoke(config, {
      compilerState,
      localBuild: !checks,
      messageCallback: (message) => {
        message.handled = true;
      },
    });
    if (apiReportChanged) changed.push(name);
    if (!writesModels) undocumented.push(...withoutComment(name));
  }
  if (!writesModels) console.log(`${configs.length} reports, ${changed.length} ${checks ? 'out of date' : 'changed'}`);
  if (checks && changed.length > 0) {
    console.error(`The public surface of ${changed.join(', ')} changed. If that is meant: npm run api`);
    process.exitCode = 1;
  }
  if (undocumented.length > 0) {
    console.error(`These exports have no comment:\n${undocumented.join('\n')}`);
    process.exitCode = 1;
  }
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
