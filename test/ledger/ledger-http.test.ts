import { describe, expect, it } from 'vitest';
import { apiKeys, createRouter, type Ledger, type Router, type RouterConfig } from 'signalbox';
import { fakeEnvironment } from 'signalbox/testing';
import { CSV_HEAD } from '../../src/core/ledger/csv.ts';
import { type Answered, type CallInit, send } from '../support/http-call.ts';
import { ledgerRecord } from '../support/ledger-records.ts';
import { ask, instant } from '../support/simulated.ts';

const [ADA, BOB, BOSS, MANAGER] = [
  'key-of-ada-0123456789',
  'key-of-bob-0123456789',
  'key-of-boss-0123456789',
  'manager-0123456789abc',
];
const authenticate = apiKeys([
  { key: ADA, id: 'ada' },
  { key: BOB, id: 'bob' },
  { key: BOSS, id: 'boss', scopes: ['inference', 'operator'] },
  { key: MANAGER, id: 'manager', scopes: ['operator'] },
]);

function routerWith(config: RouterConfig = {}): Router {
  const provider = instant({ models: { 'simulated/small': { price: { prompt: 1, completion: 2 } } } });
  return createRouter({ providers: [provider], environment: fakeEnvironment(), authenticate, ledger: true, ...config });
}

async function chat(router: Router, key: string, more: object = {}): Promise<string> {
  const answer = await send(router, {
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: { ...ask('A secret of mine'), ...more },
  });
  expect(answer.status).toBe(200);
  return (answer.json as { id: string }).id;
}

function get(router: Router, path: string, key?: string, query = ''): Promise<Answered> {
  const headers: CallInit['headers'] = key === undefined ? {} : { authorization: `Bearer ${key}` };
  return send(router, { method: 'GET', path, query, headers });
}

describe('GET /generation', () => {
  it('tells its own account what became of a generation, in the shape of the hosted service', async () => {
    const router = routerWith();
    const id = await chat(router, ADA, { session_id: 'my session' });
    const { status, json, headers } = await get(router, '/generation', ADA, `id=${id}`);
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('no-store');
    expect(json['data']).toMatchObject({
      id,
      model: 'simulated/small',
      provider_name: 'Simulated',
      streamed: false,
      cancelled: false,
      finish_reason: 'stop',
      is_byok: false,
      api_type: 'completions',
      provider_responses: [{ provider_name: 'Simulated', status: 200, model_permaslug: 'simulated/small' }],
    });
    const { total_cost: cost, tokens_prompt: prompt, session_id: session } = json['data'] as Record<string, unknown>;
    expect(cost).toBeGreaterThan(0);
    expect(prompt).toBeGreaterThan(0);
    expect(session).toMatch(/^s_[0-9a-f]{20}$/);
  });

  it('is the same 404 for another account as for an id that nobody ever had', async () => {
    const router = routerWith();
    const id = await chat(router, ADA);
    const [strange, unknown] = [
      await get(router, '/generation', BOB, `id=${id}`),
      await get(router, '/generation', BOB, 'id=gen-1-x'),
    ];
    expect([strange.status, strange.error]).toEqual([404, unknown.error]);
    expect((await get(router, '/generation', undefined, `id=${id}`)).status).toBe(401);
    expect((await get(router, '/generation', 'wrong-key-0123456789', `id=${id}`)).status).toBe(401);
    expect((await get(router, '/generation', ADA)).status).toBe(400);
    for (const key of [BOSS, MANAGER]) expect((await get(router, '/generation', key, `id=${id}`)).status).toBe(200);
  });
});

describe('GET /ledger', () => {
  it('shows a management key the records of its own account, and nothing of others', async () => {
    const tenant = 'tenant-manager-0123456789';
    const keys = apiKeys([
      { key: ADA, id: 'ada' },
      { key: tenant, id: 'ada', scopes: ['management'] },
      { key: BOB, id: 'bob' },
    ]);
    const router = routerWith({ authenticate: keys });
    const own = await chat(router, ADA);
    const other = await chat(router, BOB);
    for (const query of ['', 'account=ada', 'order=latest', 'format=csv']) {
      const shown = await get(router, '/ledger', tenant, query);
      expect([shown.status, shown.text.includes(own), shown.text.includes(other)]).toEqual([200, true, false]);
    }
    for (const path of ['/ledger', '/ledger/costs']) {
      const refused = await get(router, path, tenant, 'account=bob&by=account');
      expect([refused.status, refused.error.message.includes('operator')]).toEqual([403, true]);
    }
    const costs = await get(router, '/ledger/costs', tenant, 'by=account');
    expect((costs.json['data'] as { key: string }[]).map(({ key }) => key)).toEqual(['ada']);
    expect((await get(router, '/generation', tenant, `id=${own}`)).status).toBe(200);
    expect((await get(router, '/generation', tenant, `id=${other}`)).status).toBe(404);
  });

  it('shows the only account there is to its management key', async () => {
    const keys = apiKeys([{ key: BOSS, id: 'solo', scopes: ['inference', 'management'] }]);
    const router = routerWith({ authenticate: keys });
    const id = await chat(router, BOSS);
    const inProcess = await router.chat(ask('Another'), { account: { id: 'cron' } });
    const { text } = await get(router, '/ledger', BOSS);
    expect([text.includes(id), text.includes(inProcess.id)]).toEqual([true, true]);
  });

  it('is for management and operator keys only, and so are the costs', async () => {
    const router = routerWith();
    const id = await chat(router, ADA);
    for (const [path, query] of [
      ['/ledger', ''],
      ['/ledger', 'account=ada'],
      ['/ledger', 'account=bob&format=csv'],
      ['/ledger/costs', 'by=account'],
      ['/ledger/', ''],
    ] as const) {
      const refused = await get(router, path, BOB, query);
      expect([refused.status, refused.text.includes(id), refused.text.includes('cost')]).toEqual([403, false, false]);
      expect((await get(router, path, undefined, query)).status).toBe(401);
      expect((await get(router, path, MANAGER, query)).status).toBe(200);
    }
  });

  it('gives records as JSON lines, page by page, without a word of prompts and answers', async () => {
    const router = routerWith({ ledger: { tags: ['team'] } });
    const ids = [
      await chat(router, ADA),
      await chat(router, BOB, { metadata: { team: 'x', secret: 'not a tag' } }),
      await chat(router, ADA),
    ];
    const first = await get(router, '/ledger', BOSS, 'limit=2');
    const lines = first.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.map(({ id }) => id)).toEqual(ids.slice(0, 2));
    expect(lines[1]).toMatchObject({ account: 'bob', tags: { team: 'x' } });
    expect(first.text).not.toMatch(/secret|Lorem|content/i);
    const next = await get(router, '/ledger', BOSS, `limit=2&after=${first.headers['x-next-cursor']}`);
    expect(
      next.text
        .trimEnd()
        .split('\n')
        .map((line) => (JSON.parse(line) as { id: string }).id),
    ).toEqual(ids.slice(2));
    expect(next.headers['x-next-cursor']).toBeUndefined();
    expect((await get(router, '/ledger', BOSS, 'tag=team:x')).text.trimEnd().split('\n')).toHaveLength(1);
    for (const query of ['limit=0', 'limit=1001', 'after=x', 'order=odd', 'format=xml', 'tag=x', 'from=now']) {
      expect((await get(router, '/ledger', BOSS, query)).status).toBe(400);
    }
  });

  it('gives CSV in which no cell is a formula, and no cell leaves its place', async () => {
    const hostile = ['=cmd|A0', '+1', '-1', '@x', '\tx', '\rx', 'a,b', 'a"b', 'a\nb', '＝1'];
    const router = routerWith({
      ledger: {
        store: fixed(
          hostile.map((account, index) => ledgerRecord({ id: `gen-${index}`, account, requested: account })),
        ),
      },
    });
    const { text, headers } = await get(router, '/ledger', BOSS, 'format=csv');
    expect(headers['content-type']).toContain('text/csv');
    const rows = readCsv(text);
    expect(rows[0]?.join(',')).toBe(CSV_HEAD);
    expect(rows).toHaveLength(hostile.length + 1);
    for (const row of rows.slice(1)) {
      expect(row).toHaveLength(rows[0]?.length ?? 0);
      for (const cell of row) expect(cell).not.toMatch(/^[=+\-@\t\r＝]/);
    }
    const column = rows[0]?.indexOf('account') ?? -1;
    expect(rows.slice(1).map((row) => row[column]?.replace(/^'/, ''))).toEqual(hostile);
  });

  it('sums costs, and their total', async () => {
    const router = routerWith();
    await chat(router, ADA);
    await chat(router, BOB);
    const { json } = await get(router, '/ledger/costs', MANAGER, 'by=account');
    const { data, total } = json as unknown as {
      data: { key: string; cost_nano_usd: number }[];
      total: { cost_nano_usd: number; requests: number };
    };
    expect(data.map(({ key }) => key).toSorted()).toEqual(['ada', 'bob']);
    expect(total).toMatchObject({
      requests: 2,
      cost_nano_usd: data.reduce((sum, { cost_nano_usd: cost }) => sum + cost, 0),
    });
    expect(total.cost_nano_usd).toBeGreaterThan(0);
    for (const query of ['', 'by=model;', 'by=tag', 'by=toString'])
      expect((await get(router, '/ledger/costs', MANAGER, query)).status).toBe(400);
  });

  it('is a 404 that says what to do where nothing is kept', async () => {
    const router = routerWith({ ledger: false });
    expect((await get(router, '/ledger', BOSS)).error.message).toContain('ledger: true');
    expect((await get(router, '/ledger', BOB)).status).toBe(403);
  });
});

/** A ledger of these records. */
function fixed(records: Awaited<ReturnType<Ledger['read']>>['records']): Ledger {
  return { append: () => {}, read: () => ({ records }), one: () => undefined, costs: () => [] };
}

/** Rows of RFC 4180. */
function readCsv(text: string): string[][] {
  const rows: string[][] = [[]];
  let cell = '';
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (quoted && character === '"' && text[at + 1] === '"') [cell, at] = [`${cell}"`, at + 1];
    else if (character === '"') quoted = !quoted;
    else if (quoted) cell += character;
    else if (character === ',') [cell] = ['', rows.at(-1)?.push(cell)];
    else if (character === '\r' && text[at + 1] === '\n') {
      rows.at(-1)?.push(cell);
      rows.push([]);
      [cell, at] = ['', at + 1];
    } else cell += character;
  }
  return rows.slice(0, -1);
}
