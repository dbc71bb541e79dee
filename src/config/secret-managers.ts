import { dirname, resolve } from 'node:path'
import { DEFAULTS } from '../core/defaults.generated.js'
import type { AwsManagerConfig, ManagedConfig, ManagersConfig, VaultLogin } from '../core/secret-managers.js'
import { type Context, interpolate } from './context.js'
import { readTypedCredential } from './credential-source.js'
import { type Document, Site } from './document.js'
import { readTls } from './egress.js'
import { sectionOf } from './entries.js'
import type { RawAwsManager, RawGcpManager, RawSecretManagers, RawVaultManager } from './raw.generated.js'
import { readSecret } from './secrets.js'
import { readDuration } from './settings.js'

const GCP_ENDPOINT = 'https://secretmanager.googleapis.com'
/** Secrets are not fetched more often, milliseconds. */
const MIN_REFRESH_MS = 1000
/** Most secrets of one configuration in managers. */
const MAX_MANAGED = 1000

/** What was read of the whole file needs from secret managers. Call it last. */
export function readManaged(main: Document, context: Context): { readonly managed?: ManagedConfig } {
  const { report, managed } = context
  const site = new Site(main, ['secret_managers'])
  const written = sectionOf(main, 'secret_managers')
  const managers = readManagers(written === undefined ? {} : interpolate(written, site, context), site, context)
  const { wanted } = managed
  for (const { secret, site: place } of wanted) {
    if (managers[secret.manager] !== undefined) continue
    const message = `where is it? secret_managers: { ${secret.manager}: … } is missing`
    report.error('missing-manager', place, message)
  }
  if (wanted.length > MAX_MANAGED) {
    report.error('too-many-secrets', site, `${wanted.length} secrets are in managers; the most is ${MAX_MANAGED}`)
  }
  if (wanted.length === 0) return {}
  return {
    managed: { managers, secrets: wanted.map(({ secret, sections }) => ({ ...secret, sections: [...sections] })) },
  }
}

function readManagers(raw: RawSecretManagers, site: Site, context: Context): ManagersConfig {
  const { vault, aws, gcp, tls } = raw
  const time = (name: 'refresh' | 'timeout'): number => {
    const written = raw[name]
    return written === undefined ? DEFAULTS.secretManagers[name] : readDuration(written, site.child(name), context)
  }
  if (vault?.cert !== undefined) checkShown(vault.address, tls, site, context)
  const refresh = time('refresh')
  if (refresh < MIN_REFRESH_MS) {
    context.report.error('bad-value', site.child('refresh'), `expected ${MIN_REFRESH_MS}ms or more`)
  }
  return {
    refresh,
    timeout: time('timeout'),
    ...(tls === undefined ? {} : { tls: readTls(tls, site.child('tls'), context) }),
    ...(vault === undefined ? {} : { vault: readVault(vault, site.child('vault'), context) }),
    ...(aws === undefined ? {} : { aws: readAws(aws, site.child('aws'), context) }),
    ...(gcp === undefined ? {} : { gcp: readGcp(gcp, site.child('gcp'), context) }),
  }
}

/** A login by certificate needs one, and TLS to show it. */
function checkShown(address: string, tls: RawSecretManagers['tls'], site: Site, { report }: Context): void {
  if (tls?.certificate === undefined) {
    const message = 'which certificate? secret_managers: { tls: { certificate: own.pem, key: own.key } } is missing'
    report.error('missing-certificate', site.child('vault', 'cert'), message, { on: 'key' })
  }
  if (/^http:/i.test(address)) {
    report.error('bad-value', site.child('vault', 'address'), 'a certificate is shown over https alone')
  }
}

function readVault(raw: RawVaultManager, site: Site, context: Context): NonNullable<ManagersConfig['vault']> {
  const { namespace } = raw
  return {
    address: addressOf(raw.address, site.child('address'), context),
    ...(namespace === undefined ? {} : { namespace }),
    login: readLogin(raw, site, context),
  }
}

function readLogin({ token, app_role, kubernetes, cert }: RawVaultManager, site: Site, context: Context): VaultLogin {
  const ways = [token, app_role, kubernetes, cert].filter(one => one !== undefined)
  if (ways.length !== 1) {
    const message = 'how does the gateway log in? One of token, app_role, kubernetes and cert belongs here'
    context.report.error('vault-login', site, message, { on: 'key' })
  }
  if (kubernetes !== undefined) {
    const defaults = DEFAULTS.vaultKubernetes
    const { role, mount = defaults.mount, token_file = defaults.token_file } = kubernetes
    return { by: 'kubernetes', role, mount, tokenFile: beside(site, token_file) }
  }
  if (cert !== undefined) {
    const { role, mount = DEFAULTS.vaultCert.mount } = cert
    return { by: 'cert', mount, ...(role === undefined ? {} : { role }) }
  }
  if (app_role !== undefined) {
    const { role_id: roleId, secret_id, mount = DEFAULTS.vaultAppRole.mount } = app_role
    const found = readSecret(secret_id, site.child('app_role', 'secret_id'), context)
    if (found !== 'broken' && 'secret' in found) return { by: 'app_role', roleId, mount, secretId: found.secret }
    return { by: 'none', reason: reasonOf(found) }
  }
  const found = token === undefined ? 'broken' : readSecret(token, site.child('token'), context)
  if (found !== 'broken' && 'secret' in found) return { by: 'token', token: found.secret }
  return { by: 'none', reason: reasonOf(found) }
}

function reasonOf(found: ReturnType<typeof readSecret>): string {
  return found !== 'broken' && 'absent' in found ? found.absent : 'there is no login'
}

function readAws(raw: RawAwsManager, site: Site, context: Context): AwsManagerConfig {
  const { endpoint, secret, ...own } = raw
  const read = secret === undefined ? 'broken' : readSecret(secret, site.child('secret'), context)
  const found = read !== 'broken' && 'secret' in read ? read.secret : undefined
  const written = { type: 'aws-sigv4', service: 'secretsmanager', ...own, ...(secret && { secret }) } as const
  const source = readTypedCredential(written, site, found, context)?.source
  return {
    ...(source?.type === 'aws-sigv4' ? { source } : {}),
    ...(endpoint === undefined ? {} : { endpoint: addressOf(endpoint, site.child('endpoint'), context) }),
  }
}

function readGcp({ file, endpoint }: RawGcpManager, site: Site, context: Context): NonNullable<ManagersConfig['gcp']> {
  const scopes = ['https://www.googleapis.com/auth/cloud-platform']
  return {
    source: { type: 'gcp', scopes, ...(file === undefined ? {} : { file: beside(site, file) }) },
    endpoint: endpoint === undefined ? GCP_ENDPOINT : addressOf(endpoint, site.child('endpoint'), context),
  }
}

/** Secrets and tokens must not travel in the clear. */
function addressOf(text: string, site: Site, { report }: Context): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '' || url.search + url.hash !== '') {
    report.error('bad-value', site, 'expected an address such as https://vault.example:8200')
    return text
  }
  if (url.protocol === 'http:' && !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(url.hostname)) {
    report.warn('insecure-url', site, 'this address is not encrypted: secrets could be read on the way')
  }
  return text.replace(/\/+$/, '')
}

function beside(site: Site, file: string): string {
  return resolve(dirname(site.document.source.file), file)
}
