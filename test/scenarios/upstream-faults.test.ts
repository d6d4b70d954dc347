import type { Transport } from 'signalbox';
import { FAULTS, type FaultId, type FaultWireName } from 'signalbox/testing';
import { describe, expect, it, vi } from 'vitest';
import { createTransport } from '../../src/net/fetch.ts';
import {
  AI_SDK_FAULTY,
  ALONE,
  BACKED,
  type FaultCell,
  type FaultyProviderFactory,
  MAIN_MOUNTS,
  ask,
  startFaultCell,
} from '../support/fault-cell.ts';
import { checkAnswer, checkBrokenStream, checkError, checkFallback } from '../support/fault-checks.ts';
import {
  AI_SDK_DEVIATIONS,
  type FaultRow,
  type Outcome,
  type Phase,
  UPSTREAM_FAULT_TABLE,
} from './upstream-fault-table.ts';
import { someOf, STORMS_ARE_FULL } from '../support/storms.ts';

/** Mounts that only differ from the main ones in how a body is read get a part of the table. */
const FURTHER_MOUNTS = ['express4', 'express behind express.json'];
const FURTHER_FAULTS = new Set<FaultId>(['U-10', 'U-14', 'U-20', 'U-27', 'U-37', 'U-53', 'U-60', 'U-61', 'U-66']);

/** Faults whose outcome depends on how a wire is read; the others are the transport's business alone. */
const WIRE_FAULTS = /^U-(?:1[3-5]|19|2[0-9]|3[0-9]|4[0-5]|5[37]|6[0567])/;

/** Each is tried on two of four wires; in a storm, on all of them. */
const OF_WIRES = UPSTREAM_FAULT_TABLE.filter(({ fault }) => WIRE_FAULTS.test(fault));

/** Content chunks before a fault that comes after the commit, and what they say. */
const AFTER_CHUNKS = 3;
const PARTIAL_TEXT = 'The quick brown ';
const FULL_TEXT = 'The quick brown fox jumps over the lazy dog';

/** Large enough that it cannot all be on its way before an answer comes. */
const LARGE_PROMPT = 'x'.repeat(8_000_000);

const UNPACKED_BY_FETCH = new Set<FaultId>(['U-55-brotli', 'U-55-double', 'U-56-unknown']);

/** Faults of hundreds of megabytes: side by side, they would make everything else wait. */
const HEAVY_FAULTS = /^U-(?:42|55)/;

// Nothing here waits for long, but on a busy machine many things that run side by side end late.
vi.setConfig({ maxConcurrency: 16, testTimeout: 120_000 });

/** Where a router stands, and the part of the table that is tried there. */
interface Stand {
  readonly name: string;
  readonly mount: string;
  readonly rows: readonly FaultRow[];
  readonly transport?: Transport | undefined;
  /** Default `chat`. */
  readonly wire?: FaultWireName | undefined;
  /** Default: the provider of that wire. */
  readonly provider?: FaultyProviderFactory | undefined;
}

const STANDS: readonly Stand[] = [
  // What a mount does with a fault rarely depends on the mount: without storms, each of the others gets its share. And
  // hundreds of megabytes from a provider never come as far as the mount: without storms, one tries them.
  ...MAIN_MOUNTS.map((mount, index) => ({
    name: mount,
    mount,
    rows:
      index === 0
        ? UPSTREAM_FAULT_TABLE
        : someOf(UPSTREAM_FAULT_TABLE, { every: 2 * (MAIN_MOUNTS.length - 1), from: 2 * index }).filter(
            ({ fault }) => STORMS_ARE_FULL || !HEAVY_FAULTS.test(fault),
          ),
  })),
  ...FURTHER_MOUNTS.map((mount, index) => ({
    name: mount,
    mount,
    rows: someOf(
      UPSTREAM_FAULT_TABLE.filter(({ fault }) => FURTHER_FAULTS.has(fault)),
      { every: FURTHER_MOUNTS.length, from: index },
    ),
  })),
  {
    name: 'node, asking providers with fetch',
    mount: 'node',
    transport: createTransport(),
    // A body in an unknown coding is passed on as it is by fetch itself, so it is no fault there. And fetch unpacks by
    // itself, slowly: one bomb tells as much as three. How a wire is read does not depend on the transport, so without
    // storms only the faults that are its business are tried, and what it unpacks in whole answers alone.
    rows: UPSTREAM_FAULT_TABLE.filter(
      ({ fault }) => !UNPACKED_BY_FETCH.has(fault) && (STORMS_ARE_FULL || !WIRE_FAULTS.test(fault)),
    ).map((row) => (STORMS_ARE_FULL || row.fault !== 'U-55-gzip' ? row : onlyWhole(row))),
  },
  {
    name: 'node, a provider of the Messages API',
    mount: 'node',
    wire: 'anthropic',
    rows: someOf(OF_WIRES, { every: 2 }),
  },
  {
    name: "node, a provider of Google's wire",
    mount: 'node',
    wire: 'google',
    rows: someOf(OF_WIRES, { every: 2, from: 1 }),
  },
  {
    name: 'node, a model of the AI SDK',
    mount: 'node',
    provider: AI_SDK_FAULTY,
    // Members that it does not know are not looked at by the SDK, however deep they are; and it reads whole answers to
    // their end, however long they are.
    rows: someOf(
      OF_WIRES.filter(({ fault }) => !/^U-(?:42|67)/.test(fault)),
      { every: 2 },
    ).map((row) => AI_SDK_DEVIATIONS.find(({ fault }) => fault === row.fault) ?? row),
  },
];

describe.each(STANDS)('$name', ({ rows, ...stand }) => {
  const cells = rows.flatMap((row) =>
    (Object.entries(row.outcomes) as [Phase, Outcome][]).map(([phase, outcome]) => ({ row, phase, outcome })),
  );

  const play = ({ row, phase, outcome }: Cell): void => {
    it(`${FAULTS[row.fault].does}: ${describeOutcome(outcome)}`, async () => {
      await using cell = await startCell(stand, row, phase);
      const stream = phase !== 'whole';
      const request = {
        stream,
        ...(row.fault === 'U-61' ? { messages: [{ role: 'user', content: LARGE_PROMPT }] } : {}),
      };
      await check(await ask(cell.mounted, { ...request, model: ALONE }), outcome);
      await checkBacked(await ask(cell.mounted, { ...request, model: BACKED }), outcome, cell);
    });
  };

  describe.concurrent.each(cells.filter(({ row }) => !HEAVY_FAULTS.test(row.fault)))('$row.fault, $phase', play);
  describe.each(cells.filter(({ row }) => HEAVY_FAULTS.test(row.fault)))('$row.fault, $phase', play);
});

function onlyWhole({ outcomes: { whole }, ...row }: FaultRow): FaultRow {
  return { ...row, outcomes: whole === undefined ? {} : { whole } };
}

/** One row of the table in one phase. */
interface Cell {
  readonly row: FaultRow;
  readonly phase: Phase;
  readonly outcome: Outcome;
}

function startCell(
  { mount, transport, wire, provider }: Omit<Stand, 'name' | 'rows'>,
  row: FaultRow,
  phase: Phase,
): Promise<FaultCell> {
  return startFaultCell({
    mount,
    transport,
    provider,
    impatient: row.impatient ?? false,
    upstream: { wire, fault: row.fault, afterChunks: phase === 'stream after commit' ? AFTER_CHUNKS : 0 },
  });
}

function describeOutcome(outcome: Outcome): string {
  switch (outcome.type) {
    case 'answered':
      return 'is answered all the same';
    case 'falls back':
      return `falls back, or answers ${outcome.status}`;
    case 'refused':
      return `answers ${outcome.status} and asks nobody else`;
    case 'breaks off':
      return `keeps what came and tells error ${outcome.code}`;
  }
}

/** With the faulty provider alone. */
async function check(response: Response, outcome: Outcome): Promise<void> {
  switch (outcome.type) {
    case 'answered':
      return void (await checkAnswer(response, FULL_TEXT, 'Faulty'));
    case 'breaks off':
      return checkBrokenStream(response, outcome.code, PARTIAL_TEXT);
    case 'falls back':
      return checkError(response, outcome.status, outcome.retryAfter ?? null);
    case 'refused':
      return checkError(response, outcome.status, null);
  }
}

/** With a healthy provider behind it. */
async function checkBacked(response: Response, outcome: Outcome, { healthy }: FaultCell): Promise<void> {
  if (outcome.type !== 'falls back') {
    await check(response, outcome);
    expect(healthy.requests).toEqual([]);
    return;
  }
  await checkFallback(response);
}
