/** What is wrong with the address of a server, and what codes of failed connections mean. */
import type { StorageErrorReason } from '../contracts/storage-error.ts';

/** What a code means for somebody who has to do something about it. */
export type CodeMeaning = readonly [reason: StorageErrorReason, advice: string];

const UNTRUSTED = 'the server shows a certificate that this process does not trust';

/** What codes of the operating system and of TLS mean, whichever server was called. The longest beginning counts. */
export const CONNECTION_MEANINGS: Readonly<Record<string, CodeMeaning>> = {
  ECONNREFUSED: ['unavailable', 'no server listens there; is the server running, and are host and port right?'],
  ENOENT: ['unavailable', 'no server listens there; is the server running, and is the path right?'],
  ENOTFOUND: ['unavailable', 'there is no such host; is its name right?'],
  EAI_AGAIN: ['unavailable', 'the name of the host could not be looked up; is it right, and does DNS answer?'],
  ETIMEDOUT: ['unavailable', 'the server does not answer; is it up, and does a firewall let this machine through?'],
  EHOSTUNREACH: ['unavailable', 'the host cannot be reached; is its address right, and is the network up?'],
  ENETUNREACH: ['unavailable', 'the host cannot be reached; is its address right, and is the network up?'],
  CERT_HAS_EXPIRED: ['unavailable', "the server's certificate has expired; renew it there"],
  CERT_: ['unavailable', `${UNTRUSTED}; look at its dates and who signed it`],
  DEPTH_ZERO_SELF_SIGNED_CERT: ['unavailable', `${UNTRUSTED}: it is self-signed; name it in NODE_EXTRA_CA_CERTS`],
  SELF_SIGNED_CERT_IN_CHAIN: ['unavailable', `${UNTRUSTED}; name its authority in NODE_EXTRA_CA_CERTS`],
  UNABLE_TO_: ['unavailable', `${UNTRUSTED}; name its authority in NODE_EXTRA_CA_CERTS`],
  ERR_TLS_CERT_ALTNAME_INVALID: ['unavailable', "the server's certificate is for another name than the address has"],
  ERR_TLS_: ['unavailable', 'TLS with the server failed; does the port speak TLS, and in a version that both know?'],
  ERR_SSL_: ['unavailable', 'TLS with the server failed; does the port speak TLS, and in a version that both know?'],
};

/** What a table says of a code: the entry with the longest beginning of it. */
export function meaningOf(table: Readonly<Record<string, CodeMeaning>>, code: string): CodeMeaning | undefined {
  const [known] = Object.keys(table)
    .filter((start) => code.startsWith(start))
    .sort((left, right) => right.length - left.length);
  return known === undefined ? undefined : table[known];
}

/** What is wrong with an address that cannot be read, without a word of it: it may hold a password. */
export function addressProblem(address: string): string | undefined {
  try {
    // Drivers take a path of a socket in place of a host, and complete what is missing like this.
    const { username, password, pathname } = new URL(address, 'postgres://base');
    for (const part of [username, password, pathname]) decodeURIComponent(part);
    return undefined;
  } catch {
    return (
      'is not an address that can be read: the port is a number up to 65535, and characters such as @, /, #, %, ? and : ' +
      'in a user or password are written percent-encoded (encodeURIComponent)'
    );
  }
}
