import type { Test } from 'tap'
import { type MediaHost, sample, startMediaHost } from '../net/media-host.js'
import type { TestGateway } from './gateway.js'
import type { Answer } from './raw-client.js'

/** Nothing allows this address. */
export const TRAP = '127.0.0.3'
/** One address of each kind, and the spellings that clients which are not careful take for one. */
export const KINDS: Readonly<Record<string, string>> = {
  loopback: TRAP,
  'another loopback': '127.0.0.1',
  'loopback in decimal': '2130706435',
  'loopback in hex': '0x7f000003',
  'loopback in octal': '0177.0.0.3',
  'loopback in short': '127.3',
  'loopback mapped to IPv6': '[::ffff:127.0.0.3]',
  'loopback behind NAT64': '[64:ff9b::7f00:3]',
  'loopback of IPv6': '[::1]',
  unspecified: '0.0.0.0',
  private: '10.0.0.1',
  'private, mapped to IPv6': '[::ffff:192.168.0.1]',
  'shared by carriers': '100.64.0.1',
  'link-local': '169.254.0.1',
  'metadata of clouds': '169.254.169.254',
  'metadata of clouds in decimal': '2852039166',
  'metadata of clouds, mapped to IPv6': '[::ffff:a9fe:a9fe]',
  'metadata of containers': '169.254.170.2',
  'metadata of clouds, IPv6': '[fd00:ec2::254]',
  'unique local': '[fd12:3456::1]',
  'link-local of IPv6': '[fe80::1]',
  'a name of this machine': 'localhost',
  'a name of this machine with a dot': 'localhost.',
  'a name below this machine': 'a.localhost',
  'a name of a cloud': 'metadata.google.internal',
}

/** Kinds that are tried where each needs a gateway of its own. */
export const OF_ISSUERS = [
  'loopback in hex',
  'loopback mapped to IPv6',
  'private',
  'metadata of clouds',
  'a name of a cloud',
]

/** A server on every address of this machine that no request may reach. */
export async function trap(t: Test): Promise<MediaHost> {
  return await startMediaHost(t, undefined, (_request, response) => {
    response.writeHead(200, { 'content-type': 'image/png' }).end(sample('image/png'))
  })
}

export type Verdict = 'refused' | 'taken'

/** Prints what became of each, and proves that all were refused and that nothing was connected to. */
export function judge(t: Test, way: string, verdicts: Readonly<Record<string, Verdict>>, host: MediaHost): void {
  for (const [kind, verdict] of Object.entries(verdicts)) t.comment(`${way}: ${kind.padEnd(26)} ${verdict}`)
  t.same(
    Object.entries(verdicts).filter(([, verdict]) => verdict !== 'refused'),
    [],
    way,
  )
  t.equal(host.connections(), 0, `${way}: nothing was connected to`)
}

export async function blockedIn({ log }: TestGateway, answer: Answer): Promise<Verdict> {
  const line = await log.find(one => one.msg === 'request' && one.id === answer.header('x-request-id'))
  return /block|address|network|malformed|scheme|user information|port/.test(`${line.cause} ${line.blocked}`)
    ? 'refused'
    : 'taken'
}
