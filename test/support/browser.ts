import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { findBrowser } from './servers.ts';

/** A browser that is running. */
export interface RunningBrowser extends AsyncDisposable {
  /** Opens a page that remembers what it asked for and what went wrong in it. */
  open(options?: PageOptions): Promise<WatchedPage>;
}

/** How a page is opened. */
export interface PageOptions {
  readonly colorScheme?: 'light' | 'dark' | undefined;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
}

/** A page and what was noticed in it. */
export interface WatchedPage extends AsyncDisposable {
  readonly page: Page;
  /** Addresses of all requests, in order. */
  readonly requests: readonly string[];
  /** Errors of scripts, messages of the console, and violations of the policy. */
  readonly complaints: readonly string[];
}

/** Starts the Chromium of this machine. */
export async function startBrowser(): Promise<RunningBrowser> {
  const executablePath = findBrowser();
  if (executablePath === undefined) throw new Error('There is no Chromium on this machine.');
  // Containers give no sandbox to root, and little shared memory.
  const browser: Browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
  return {
    open: async (options = {}) => watch(await contextOf(browser, options)),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}

function contextOf(browser: Browser, { colorScheme, width, height }: PageOptions): Promise<BrowserContext> {
  return browser.newContext({
    viewport: { width: width ?? 1_280, height: height ?? 800 },
    colorScheme: colorScheme ?? 'light',
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
  });
}

async function watch(context: BrowserContext): Promise<WatchedPage> {
  const page = await context.newPage();
  const requests: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  await page.addInitScript(`addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
    console.error('policy violated: ' + violatedDirective + ' ' + blockedURI))`);
  return { page, requests, complaints, [Symbol.asyncDispose]: () => context.close() };
}
