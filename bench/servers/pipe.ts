import { createServer } from 'node:http';
import { Agent } from 'undici';
import { UPSTREAM, report } from './harness.ts';

/** Reference (a): passes bytes through and looks at nothing. */
const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 });

report(
  createServer((request, response) => {
    agent.dispatch(
      {
        origin: UPSTREAM,
        path: '/v1/chat/completions',
        method: 'POST',
        body: request,
        headers: ['content-type', 'application/json'],
      },
      {
        onRequestStart() {},
        onResponseStart(_controller, status, headers) {
          response.writeHead(status, { 'content-type': String(headers['content-type']) });
        },
        onResponseData(_controller, chunk) {
          response.write(chunk);
        },
        onResponseEnd() {
          response.end();
        },
        onResponseError() {
          response.destroy();
        },
      },
    );
  }),
);
