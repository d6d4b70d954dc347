import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { type BatchWebhookEvent, verifyWebhook } from 'signalbox';
import { makeCertificate } from 'signalbox/testing';

/** A receiver of one webhook on loopback, with a certificate of its own that this process trusts. */
export async function startReceiver(secret: string) {
  const { certificate, privateKey } = await makeCertificate('valid');
  setDefaultCACertificates([...getCACertificates(), certificate]);
  const server = createServer({ cert: certificate, key: privateKey });
  const event = new Promise<BatchWebhookEvent>((resolve) => {
    server.on('request', async (request, response) => {
      try {
        const body = await text(request);
        const received = await verifyWebhook({ body, headers: request.headers, secrets: [secret] });
        response.writeHead(204).end();
        resolve(received);
      } catch {
        // Somebody else, or an old delivery played again.
        response.writeHead(400).end();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `localhost:${(server.address() as AddressInfo).port}`;
  return { host, url: `https://${host}/batches`, event, close: () => server.close() };
}
