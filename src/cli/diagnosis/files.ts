import { access, constants, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { shownFile } from '../../config/problems.js'
import { hasFileModes } from '../../core/platform.js'
import { type Check, fault, ok, type Patient, type Result, reasonOf, warning } from './result.js'

const WRITABLE_BY_OTHERS = 0o002
const READABLE_BY_OTHERS = 0o004
const MIN_FREE_BYTES = 1024 ** 3

/** Rights of files, and whether folders can be written. */
export const checkFiles: Check = async patient => {
  const certificates = new Set(publicFiles(patient))
  return [
    ...(await Promise.all(patient.files.map(configFile))),
    ...(await Promise.all(patient.secrets.filter(file => !certificates.has(file)).map(secretFile))),
    ...(await Promise.all(foldersOf(patient).map(([what, path]) => folder(what, path)))),
  ]
}

/** Certificates are for everyone to read. */
function publicFiles({ config }: Patient): readonly string[] {
  const egress = [config.egress, ...Object.values(config.upstreams).map(one => one.egress)]
  const files = [
    config.listen.tls?.cert,
    config.listen.tls?.clientCa,
    config.listen.tls?.clientCrl,
    config.admin?.tls?.cert,
    ...egress.flatMap(one => [one?.tls?.ca, one?.tls?.certificate]),
  ]
  return files.flatMap(file => (file === undefined ? [] : [file.path]))
}

async function configFile(file: string): Promise<Result> {
  const name = shownFile(file)
  const found = await stat(file).catch(reasonOf)
  if (typeof found === 'string') return fault('file', name, found, 'Name a file that is there and can be read.')
  if (!hasFileModes() || (found.mode & WRITABLE_BY_OTHERS) === 0) return ok('file', name, 'can be read')
  return warning('file', name, 'every user of this machine may change it', `chmod o-w ${name}`)
}

async function secretFile(file: string): Promise<Result> {
  const name = shownFile(file)
  const found = await stat(file).catch(reasonOf)
  if (typeof found === 'string')
    return warning('secret', name, found, 'Write the secret there; until then what needs it is off.')
  if (!hasFileModes()) return ok('secret', name, 'can be read')
  if ((found.mode & READABLE_BY_OTHERS) === 0) return ok('secret', name, 'only its owner and group may read it')
  return warning('secret', name, 'every user of this machine may read it', `chmod o-rwx ${name}`)
}

function foldersOf({ config: { store, spool, receipts } }: Patient): readonly (readonly [string, string])[] {
  return [
    ['data folder', store.path],
    ['spool folder', spool.path],
    ...(receipts?.to.type === 'folder' ? [['receipts folder', receipts.to.path] as const] : []),
  ]
}

/** The folder, or the next one above that is there; and why nothing can be written in it. */
export async function writing(path: string): Promise<{ readonly existing: string; readonly refused?: string }> {
  let existing = path
  while (!(await isThere(existing)) && dirname(existing) !== existing) existing = dirname(existing)
  const refused = await access(existing, constants.W_OK | constants.X_OK).then(() => undefined, reasonOf)
  return { existing, ...(refused === undefined ? {} : { refused }) }
}

/** A folder that is not there is made at the start, so the next one above it has to be writable. */
async function folder(what: string, path: string): Promise<Result> {
  const name = `${what} ${shownFile(path)}`
  const { existing, refused } = await writing(path)
  const user = process.getuid?.() ?? 'the gateway'
  if (refused !== undefined)
    return fault(
      'folder',
      name,
      `${shownFile(existing)} cannot be written`,
      `Give user ${user} the right to write there.`,
    )
  const { bavail, bsize } = await statfs(existing)
  const free = bavail * bsize
  const size = `${(free / 1024 ** 3).toFixed(1)} GiB are free`
  if (free < MIN_FREE_BYTES)
    return warning('folder', name, `only ${size}`, 'Make room, or name a folder on another disk.')
  return ok('folder', name, `${existing === path ? 'can be written' : 'will be made at the start'}; ${size}`)
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
