import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isObject } from '../../core/json.js'
import { packageRoot } from '../../core/package-root.js'
import { version } from '../command.js'
import { type Check, fault, ok } from './result.js'

/** Versions of the gateway, of Node and of OpenSSL. */
export const checkVersions: Check = async () => {
  const { node, openssl } = process.versions
  const manifest: unknown = JSON.parse(await readFile(join(packageRoot(), 'package.json'), 'utf8'))
  const engines = isObject(manifest as never) ? (manifest as { engines?: { node?: string } }).engines : undefined
  const least = /\d+\.\d+\.\d+/.exec(engines?.node ?? '')?.[0] ?? '0.0.0'
  return [
    ok('version', 'gateway', `${version()} on ${process.platform} ${process.arch}`),
    isAtLeast(node, least)
      ? ok('version', 'node', `${node} (${least} or newer is needed), OpenSSL ${openssl}`)
      : fault('version', 'node', `${node} is older than ${least}`, `Install Node ${least} or newer.`),
  ]
}

function isAtLeast(version: string, least: string): boolean {
  const [have, want] = [version, least].map(text => text.split('.').map(Number))
  for (const [index, number] of (want ?? []).entries()) {
    const own = have?.[index] ?? 0
    if (own !== number) return own > number
  }
  return true
}
