import { hash, timingSafeEqual } from 'node:crypto'
import { topic } from '../../core/peers.js'
import { codeUsed, linkCode, noSession, openSession, sentSession, sessionEnded, takeCode } from '../console/session.js'
import type { AdminHost } from '../host.js'
import { AdminError, type AdminRoute, FLAG, MOMENT, objectOf, TEXT } from '../route.js'

const PATH = '/admin/session'
const USED = topic<string>('console: code used')
const ENDED = topic<string>('console: session ended')

const SESSION = objectOf({ role: { enum: ['viewer', 'admin'] }, expires: MOMENT, name: TEXT, zone: TEXT }, ['role'])

const hasConsole = ({ plan }: AdminHost): boolean => plan.admin?.console === true

export const showSession: AdminRoute = {
  method: 'GET',
  path: PATH,
  summary: 'Who asks, and what it may do. viewer: a session that changes nothing.',
  status: 200,
  answer: SESSION,
  async handle({ session }, host) {
    const zone = host.plan.accounting?.timeZone ?? 'UTC'
    return { ...(session ?? { role: 'admin' }), zone }
  },
}

export const signInWays: AdminRoute = {
  method: 'GET',
  path: `${PATH}/ways`,
  summary: 'How people can sign in to the console. oidc: the host of the issuer, where one is declared.',
  status: 200,
  answer: objectOf({ key: FLAG, oidc: TEXT }, ['key']),
  isOpen: hasConsole,
  async handle(_request, { plan }) {
    const { digest, oidc } = plan.admin ?? {}
    return { key: digest !== undefined, ...(oidc === undefined ? {} : { oidc: new URL(oidc.provider.issuer).host }) }
  },
}

export const startSession: AdminRoute = {
  method: 'POST',
  path: PATH,
  summary:
    'Opens a session of the console: a cookie of 12 hours, for the admin key or the code of a link. viewer: it may change nothing.',
  body: objectOf({ key: TEXT, code: TEXT, viewer: FLAG }),
  status: 200,
  answer: SESSION,
  isOpen: hasConsole,
  isReading: true,
  async handle({ body: { key, code, viewer }, isEncrypted, setCookie }, host) {
    const { digest } = host.plan.admin ?? {}
    if (digest === undefined) throw new AdminError(401, 'unauthenticated', 'the gateway has no admin key')
    if (!isKey(key, digest) && !isCode(code, digest, host))
      throw new AdminError(401, 'unauthenticated', 'this is not the admin key, or the link has been used')
    const role = viewer === true ? 'viewer' : 'admin'
    setCookie(openSession({ digest }, { role }, isEncrypted))
    return { role }
  },
}

function isKey(key: unknown, digest: string): boolean {
  return typeof key === 'string' && timingSafeEqual(hash('sha256', key, 'buffer'), Buffer.from(digest, 'hex'))
}

function isCode(code: unknown, digest: string, { kernel: { peers } }: AdminHost): boolean {
  if (typeof code !== 'string' || code.length > 256 || !takeCode(digest, code)) return false
  peers.tell(USED, code)
  return true
}

/** Codes of links that other workers have accepted, and sessions that ended there, are not accepted here. */
export function followSessions({ peers }: AdminHost['kernel']): void {
  peers.on(USED, code => codeUsed(code))
  peers.on(ENDED, session => sessionEnded(session))
}

export const stopSession: AdminRoute = {
  method: 'DELETE',
  path: PATH,
  summary: 'Ends the session of the console.',
  status: 200,
  answer: objectOf({ ended: FLAG }),
  isReading: true,
  async handle({ session, headers, isEncrypted, setCookie }, { kernel: { peers } }) {
    setCookie(noSession(isEncrypted))
    if (session !== undefined) {
      const sent = sentSession(headers, isEncrypted)
      sessionEnded(sent)
      peers.tell(ENDED, sent)
    }
    return { ended: true }
  },
}

export const consoleLink: AdminRoute = {
  method: 'POST',
  path: '/admin/session/link',
  summary:
    'A link to the console that opens a session once, within ten minutes: add the code to the address of the listener.',
  status: 200,
  answer: objectOf({ code: TEXT, path: TEXT }, ['code', 'path']),
  async handle(_request, { plan }) {
    const { digest = '', console: isOn } = plan.admin ?? {}
    if (isOn !== true) throw new AdminError(409, 'conflict', 'the console is off: admin.console is false')
    const code = linkCode(digest)
    return { code, path: `/#code=${code}` }
  },
}
