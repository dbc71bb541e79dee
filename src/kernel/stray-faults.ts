import { basename, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { GatewayError } from '../core/errors.js'
import { packageRoot } from '../core/package-root.js'
import { faultText, loadedModules } from '../core/user-module.js'

/** Hears of a fault: the module's file, and what was thrown, without its message. */
type Report = (module: string, fault: string) => void

const reports = new Set<Report>()

/**
 * What a module of the user's own begins without waiting for it may fail where no call of it hears. That does not end the process
 * until what is returned is called: it is reported. Faults of the gateway's own end it as ever.
 */
export function guardStrays(report: Report): () => void {
  if (reports.size === 0) {
    process.on('unhandledRejection', onRejection)
    process.on('uncaughtException', onException)
  }
  reports.add(report)
  return () => {
    reports.delete(report)
    if (reports.size === 0) leave()
  }
}

/** The process is as it was before. */
function leave(): void {
  process.off('unhandledRejection', onRejection)
  process.off('uncaughtException', onException)
}

/** A rejection may have no frames at all: libraries make their errors where no one waits. */
function onRejection(cause: unknown): void {
  const stack = stackOf(cause)
  if (isOfModule(stack) || !isOwn(stack) || cause instanceof GatewayError) tell(cause, stack)
  else crash(cause)
}

function onException(cause: unknown): void {
  const stack = stackOf(cause)
  if (isOfModule(stack)) tell(cause, stack)
  else crash(cause)
}

function tell(cause: unknown, stack: string): void {
  const module = moduleIn(stack) ?? 'unknown'
  const [report] = reports
  report?.(basename(module), faultText(cause, module))
}

/** As if no one had listened. */
function crash(cause: unknown): void {
  leave()
  setImmediate(() => {
    throw cause
  })
}

function stackOf(cause: unknown): string {
  try {
    return cause instanceof Error ? String(cause.stack).replaceAll('\\', '/') : ''
  } catch {
    return ''
  }
}

/** Folders of the gateway's own code. */
const OWN = ['dist', 'bin', '.test-build/src', 'node_modules']

function isOwn(stack: string): boolean {
  const root = packageRoot().replaceAll(sep, '/')
  return OWN.some(folder => stack.includes(`${root}/${folder}/`))
}

/** What a module does when the gateway calls it has frames of both. */
function isOfModule(stack: string): boolean {
  return moduleIn(stack) !== undefined
}

function moduleIn(stack: string): string | undefined {
  return [...loadedModules].find(file => stack.includes(pathToFileURL(file).pathname))
}
