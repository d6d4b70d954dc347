/** Makes certificates at run time, for faults of TLS. */

/** What is wrong with a certificate; `valid` is right for `localhost` and 127.0.0.1 once its issuer is trusted. */
export type CertificateKind = 'valid' | 'self-signed' | 'expired' | 'wrong-host';

/** A certificate that signed itself, with its key, both as PEM. */
export interface TestCertificate {
  readonly certificate: string;
  readonly privateKey: string;
}

const DAY_MS = 86_400_000;

/** Object identifiers, encoded. */
const ECDSA_WITH_SHA256 = '06082a8648ce3d040302';
const COMMON_NAME = '0603550403';
const SUBJECT_ALT_NAME = '0603551d11';
const BASIC_CONSTRAINTS = '0603551d13';

/**
 * Makes a certificate at run time, so that no key has to be kept anywhere and the dates are right for ever. Who wants
 * to see more than "self-signed" must trust it: it is its own issuer.
 *
 * @param host - Name that it is for, besides 127.0.0.1. Default `localhost`.
 */
export async function makeCertificate(kind: CertificateKind, host = 'localhost'): Promise<TestCertificate> {
  const { generateKeyPairSync, randomBytes, sign } = await import('node:crypto');
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const end = Date.now() + (kind === 'expired' ? -DAY_MS : DAY_MS);
  const algorithm = sequence(hex(ECDSA_WITH_SHA256));
  const name = sequence(tagged(0x31, sequence(hex(COMMON_NAME), tagged(0x0c, Buffer.from(`signalbox ${kind}`)))));
  const body = sequence(
    tagged(0xa0, tagged(0x02, hex('02'))),
    tagged(0x02, Buffer.concat([hex('01'), randomBytes(8)])),
    algorithm,
    name,
    sequence(time(end - 7 * DAY_MS), time(end)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, sequence(extension(BASIC_CONSTRAINTS, sequence(hex('0101ff'))), alternativeNames(kind, host))),
  );
  const signature = tagged(0x03, Buffer.concat([hex('00'), sign('sha256', body, privateKey)]));
  return {
    certificate: pem(sequence(body, algorithm, signature)),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

function alternativeNames(kind: CertificateKind, host: string): Buffer {
  if (kind === 'wrong-host') return extension(SUBJECT_ALT_NAME, sequence(tagged(0x82, Buffer.from('other.invalid'))));
  const names = sequence(tagged(0x82, Buffer.from(host)), tagged(0x87, Buffer.from([127, 0, 0, 1])));
  return extension(SUBJECT_ALT_NAME, names);
}

function extension(identifier: string, value: Buffer): Buffer {
  return sequence(hex(identifier), tagged(0x04, value));
}

function time(at: number): Buffer {
  const digits = new Date(at).toISOString().replaceAll(/\D/g, '');
  return tagged(0x18, Buffer.from(`${digits.slice(0, 14)}Z`));
}

function sequence(...parts: Buffer[]): Buffer {
  return tagged(0x30, ...parts);
}

/** One value in DER: its tag, its length, itself. */
function tagged(tag: number, ...parts: Buffer[]): Buffer {
  const value = Buffer.concat(parts);
  const { length } = value;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), value]);
}

function hex(digits: string): Buffer {
  return Buffer.from(digits, 'hex');
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN CERTIFICATE-----', ...lines, '-----END CERTIFICATE-----', ''].join('\n');
}
