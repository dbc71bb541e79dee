import { isIP } from 'node:net'
import type { ProxyRules, ProxyServer } from '../core/egress.js'
import { Secret } from '../core/secret.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { RawProxy } from './raw.generated.js'
import { readSecret } from './secrets.js'

/** What `proxy` says, its variables filled in. `off`: there is none, even if `egress` names one. Undefined with a problem. */
export function readProxy(
  raw: RawProxy,
  written: RawProxy,
  site: Site,
  context: Context,
): ProxyRules | 'off' | undefined {
  if (raw === 'off') return 'off'
  if (raw === 'env') return fromEnvironment(site, context)
  const isText = typeof raw === 'string'
  const text = isText ? raw : raw.url
  const place = isText ? site : site.child('url')
  const asWritten = typeof written === 'string' ? written : written.url
  // A variable that is not set has already been reported.
  if (context.report.unfilled.has(text)) return undefined
  const server = parseProxy(text)
  if ('fault' in server) {
    context.report.error('bad-value', place, server.fault, { secret: true })
    return undefined
  }
  if (server.password !== undefined && !/:\/\/[^/]*\$\{[^/]*@/.test(asWritten)) {
    const message = `this password is in the file itself: write { url, user, password: { env: NAME } }, or \${NAME} here`
    context.report.warn('literal-secret', place, message, { secret: true })
  }
  if (isText) return { https: server, http: server, except: [], isFromEnvironment: false }
  const { user, password, except = [] } = raw
  checkExcept(except, site.child('except'), context)
  const login = readLogin(user, password, server, site, context)
  const whole = { ...server, ...login }
  return { https: whole, http: whole, except, isFromEnvironment: false }
}

function readLogin(
  user: string | undefined,
  password: Exclude<RawProxy, string>['password'],
  server: ProxyServer,
  site: Site,
  context: Context,
): Pick<ProxyServer, 'user' | 'password'> {
  if (user === undefined && password === undefined) return {}
  if (server.user !== undefined) {
    context.report.error('conflict', site.child('url'), 'the user is both here and beside url: remove one', {
      secret: true,
    })
  }
  if (user === undefined) {
    context.report.error('missing-key', site, '"user" is missing here: whose password it is', { on: 'key' })
    return {}
  }
  if (password === undefined) return { user }
  const result = readSecret(password, site.child('password'), context)
  if (result === 'broken') return { user }
  if ('secret' in result) return { user, password: result.secret }
  if (context.secrets !== 'require') {
    context.report.warn(
      'absent-secret',
      site.child('password'),
      `${result.absent}: the proxy gets a user without a password`,
    )
  }
  return { user }
}

function fromEnvironment(site: Site, { variables, report }: Context): ProxyRules {
  return proxyOfVariables(
    name => variables.get(name),
    fault => report.error('bad-value', site, fault),
  )
}

/** What the environment says of proxies. Names in lower case win, as in other programs. */
export function proxyOfVariables(
  get: (name: string) => string | undefined,
  onFault: (fault: string) => void,
): ProxyRules {
  const read = (name: string): string => get(name.toLowerCase())?.trim() || get(name)?.trim() || ''
  const server = (name: string): ProxyServer | undefined => {
    const text = read(name)
    if (text === '') return undefined
    const found = parseProxy(text.includes('://') ? text : `http://${text}`)
    if (!('fault' in found)) return found
    onFault(`the variable ${name} is not the address of a proxy: ${found.fault}`)
    return undefined
  }
  const [https, http] = [server('HTTPS_PROXY'), server('HTTP_PROXY')]
  return {
    ...(https === undefined ? {} : { https }),
    ...(http === undefined ? {} : { http }),
    except: read('NO_PROXY')
      .split(/[\s,]+/)
      .filter(entry => entry !== ''),
    isFromEnvironment: true,
  }
}

/** The fault does not quote the address: a password may be in it. */
function parseProxy(text: string): ProxyServer | { readonly fault: string } {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.hostname === '' || url.hostname.includes('{'))
    return { fault: 'expected the address of an HTTP proxy, such as http://proxy.example:3128' }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '')
    return { fault: 'the address of a proxy has no path, query or fragment' }
  const { username, password } = url
  try {
    return {
      origin: url.origin,
      ...(username === '' ? {} : { user: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: new Secret(decodeURIComponent(password)) }),
    }
  } catch {
    return { fault: 'the user or the password is not URL-encoded: a percent sign is written %25' }
  }
}

function checkExcept(except: readonly string[], site: Site, { report }: Context): void {
  for (const [index, entry] of except.entries()) {
    if (report.unfilled.has(entry) || isExempt(entry)) continue
    const message =
      'expected a host (example.com), an address, a network (10.0.0.0/8) or *, the host with a port if need be'
    report.error('bad-value', site.child(index), message)
  }
}

function isExempt(entry: string): boolean {
  if (entry === '*') return true
  const [, network = '', prefix] = /^([^/]+)\/(\d{1,3})$/.exec(entry) ?? []
  if (prefix !== undefined) return isIP(network) !== 0 && Number(prefix) <= (isIP(network) === 4 ? 32 : 128)
  return (
    isIP(entry) !== 0 || /^(\*?\.)?[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?(:\d{1,5})?$|^\[[0-9a-f:.]+\](:\d{1,5})?$/i.test(entry)
  )
}
