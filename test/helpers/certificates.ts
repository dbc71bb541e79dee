import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'

/** ASN.1 tags (X.690 §8). */
const INTEGER = 0x02
const BIT_STRING = 0x03
const UTF8_STRING = 0x0c
const GENERALIZED_TIME = 0x18
const SEQUENCE = 0x30
const SET = 0x31

const ED25519 = der(SEQUENCE, Buffer.from([0x06, 0x03, 0x2b, 0x65, 0x70]))
const COMMON_NAME = Buffer.from([0x06, 0x03, 0x55, 0x04, 0x03])

/** A self-signed certificate (X.509 version 1) and its key, as PEM. */
export function certificate(name: string, from: Date, to: Date): { readonly cert: string; readonly key: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const subject = der(SEQUENCE, der(SET, der(SEQUENCE, COMMON_NAME, der(UTF8_STRING, Buffer.from(name)))))
  const validity = der(SEQUENCE, time(from), time(to))
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const body = der(SEQUENCE, der(INTEGER, Buffer.from([1])), ED25519, subject, validity, subject, spki)
  const whole = der(SEQUENCE, body, ED25519, der(BIT_STRING, Buffer.from([0]), signature(body, privateKey)))
  const lines = whole.toString('base64').match(/.{1,64}/g) ?? []
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

function signature(body: Buffer, key: KeyObject): Buffer {
  return sign(null, body, key)
}

/** `20260131120000Z` */
function time(date: Date): Buffer {
  return der(GENERALIZED_TIME, Buffer.from(`${date.toISOString().slice(0, 19).replace(/[-T:]/g, '')}Z`))
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const head = length < 0x80 ? [tag, length] : [tag, 0x82, length >> 8, length & 0xff]
  return Buffer.concat([Buffer.from(head), content])
}
