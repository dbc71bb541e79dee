import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type t from 'tap'
import { find, skipping } from './store-servers.js'

type Test = Pick<typeof t, 'teardown' | 'comment'>

const OPENSSL = find('openssl', [])

/** The reason why tests with certificates of an authority are skipped here, or false. In CI they never are. */
export const withoutOpenssl = skipping(OPENSSL, 'openssl')

export interface Pair {
  readonly cert: string
  readonly key: string
}

/** A certificate authority of a test's own, made by openssl. */
export class Authority {
  readonly folder: string
  #serial = 0

  constructor(test: Test) {
    this.folder = mkdtempSync(join(tmpdir(), 'gateway-authority-'))
    test.teardown(() => rmSync(this.folder, { recursive: true, force: true }))
    this.#run(
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '30',
      '-subj',
      '/CN=test authority',
      '-keyout',
      'ca.key',
      '-out',
      'ca.pem',
    )
  }

  /** The authority's own certificate. */
  get cert(): string {
    return readFileSync(join(this.folder, 'ca.pem'), 'utf8')
  }

  /** A certificate for these names and addresses (`DNS:localhost`, `IP:127.0.0.1`). */
  issue(...names: readonly string[]): Pair {
    return this.issueFor({}, ...names)
  }

  /** With this subject (`/O=team/CN=name`), valid for so many days; -1: until yesterday. */
  issueFor({ subject, days = 30 }: { readonly subject?: string; readonly days?: number }, ...names: string[]): Pair {
    const stem = `issued-${++this.#serial}`
    const own = names.length === 0 ? 'basicConstraints=CA:FALSE' : `subjectAltName=${names.join(',')}`
    writeFileSync(join(this.folder, `${stem}.ext`), `${own}\n`)
    this.#run(
      'req',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-subj',
      subject ?? `/CN=${stem}`,
      '-keyout',
      `${stem}.key`,
      '-out',
      `${stem}.csr`,
    )
    this.#run(
      'x509',
      '-req',
      '-in',
      `${stem}.csr`,
      '-CA',
      'ca.pem',
      '-CAkey',
      'ca.key',
      '-CAcreateserial',
      '-days',
      String(days),
      '-extfile',
      `${stem}.ext`,
      '-out',
      `${stem}.pem`,
    )
    const read = (end: string): string => readFileSync(join(this.folder, `${stem}.${end}`), 'utf8')
    return { cert: read('pem'), key: read('key') }
  }

  /** The list of what it has revoked, with this certificate on it. */
  revoke({ cert }: Pick<Pair, 'cert'>): string {
    this.#prepareList()
    writeFileSync(join(this.folder, 'revoked.pem'), cert)
    this.#run('ca', '-config', 'ca.cnf', '-keyfile', 'ca.key', '-cert', 'ca.pem', '-revoke', 'revoked.pem')
    return this.revocations()
  }

  /** The list of what it has revoked. */
  revocations(): string {
    this.#prepareList()
    this.#run('ca', '-config', 'ca.cnf', '-keyfile', 'ca.key', '-cert', 'ca.pem', '-gencrl', '-out', 'crl.pem')
    return readFileSync(join(this.folder, 'crl.pem'), 'utf8')
  }

  #prepareList(): void {
    if (existsSync(join(this.folder, 'ca.cnf'))) return
    const settings = ['[ca]', 'default_ca = own', '[own]', 'database = index.txt', 'default_md = sha256']
    writeFileSync(join(this.folder, 'ca.cnf'), `${[...settings, 'default_crl_days = 30'].join('\n')}\n`)
    writeFileSync(join(this.folder, 'index.txt'), '')
  }

  #run(...args: readonly string[]): void {
    execFileSync(OPENSSL ?? 'openssl', args, { cwd: this.folder, stdio: 'ignore' })
  }
}
