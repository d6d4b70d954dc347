import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { promisify } from 'node:util';
import { createRouter, openaiCompatible } from 'signalbox';
import { describe, expect, it } from 'vitest';
import { MOUNTS } from '../support/mounts.ts';
import { scriptedProvider } from '../support/scripted-upstream.ts';
import { someOf } from '../support/storms.ts';
import { startUpstream } from '../support/upstream.ts';

/** A Python with the package `openai`: `python3 -m venv /tmp/openai-venv && /tmp/openai-venv/bin/pip install openai`. */
const PYTHON = process.env['OPENAI_PYTHON'] ?? '/tmp/openai-venv/bin/python';

const PROGRAM = `
import io, json, sys, time
from openai import OpenAI
client = OpenAI(base_url=sys.argv[1], api_key="any", max_retries=0)
chat = "/v1/chat/completions"
def line(name):
    body = {"model": "acme/one", "messages": [{"role": "user", "content": "Tell me " + name}]}
    return json.dumps({"custom_id": name, "method": "POST", "url": chat, "body": body})
text = "\\n".join(line(f"n{index}") for index in range(10))
uploaded = client.files.create(file=("requests.jsonl", io.BytesIO(text.encode())), purpose="batch")
batch = client.batches.create(input_file_id=uploaded.id, endpoint=chat, completion_window="24h", metadata={"job": "1"})
while batch.status not in ("completed", "failed", "expired", "cancelled"):
    time.sleep(0.05)
    batch = client.batches.retrieve(batch.id)
results = [json.loads(one) for one in client.files.content(batch.output_file_id).text.splitlines()]
listed = [one.id for one in client.files.list()]
deleted = client.files.delete(uploaded.id).deleted
print(json.dumps({
    "status": batch.status, "counts": batch.request_counts.model_dump(), "metadata": batch.metadata,
    "errors": batch.error_file_id, "names": sorted(one["custom_id"] for one in results),
    "codes": sorted({one["response"]["status_code"] for one in results}),
    "listed": listed == [uploaded.id], "deleted": deleted,
}))
`;

// Left out where the package is not installed.
describe.skipIf(!existsSync(PYTHON))('files through the openai package of Python', () => {
  it.each(someOf(Object.entries(MOUNTS), { every: 3 }))(
    'make a batch, whose results are a file, on %s',
    async (_name, mount) => {
      await using upstream = await startUpstream(scriptedProvider);
      const models = { 'acme/one': { price: { prompt: 1, completion: 2 } } };
      const router = createRouter({
        providers: [openaiCompatible({ slug: 'up', baseURL: upstream.baseURL, models })],
        allowAnonymous: true,
        on: { warning: () => {} },
      });
      await router.batches.start();
      await using mounted = await mount(router);
      const { stdout } = await promisify(execFile)(PYTHON, ['-c', PROGRAM, mounted.baseURL], { timeout: 60_000 });
      expect(JSON.parse(stdout)).toEqual({
        status: 'completed',
        counts: { completed: 10, failed: 0, total: 10 },
        metadata: { job: '1' },
        errors: null,
        names: Array.from({ length: 10 }, (_, index) => `n${index}`),
        codes: [200],
        listed: true,
        deleted: true,
      });
      await router.close();
    },
    90_000,
  );
});
