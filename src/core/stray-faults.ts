import { basename, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { GatewayError } from './errors.js'
import { packageRoot } from './package-root.js'
import { faultText } from './user-module.js'

/** Hears of a fault: the name of the module's file, and what was thrown, without its message. */
type StrayReport = (module: string, fault: string) => void

/** Files of all modules that were loaded. */
const loaded = new Set<string>()
const reports = new Set<StrayReport>()
let isGuarded = false
let isOwnProcess = false

/**
 * Called before a module of the user's own is loaded: what it begins without waiting for it may fail where no call of it hears.
 * From now on that does not end the process. All other faults have the effect that they had before.
 */
export function guardStrays(module: string): void {
  loaded.add(module)
  if (isGuarded) return
  isGuarded = true
  // First: a listener that hears but once is then still there to be counted.
  process.prependListener('unhandledRejection', onRejection)
  process.prependListener('uncaughtException', onException)
}

/** The process does nothing but serve: rejections without any frame of a file are those of modules, too. */
export function ownProcess(): void {
  isOwnProcess = true
}

/** Reports faults until what is returned is called. The last one to go leaves the process as it was. */
export function hearStrays(report: StrayReport): () => void {
  reports.add(report)
  return () => {
    if (reports.delete(report) && reports.size === 0) leave()
  }
}

function leave(): void {
  isGuarded = false
  process.off('unhandledRejection', onRejection)
  process.off('uncaughtException', onException)
}

/** A rejection may have no frames at all: libraries make their errors where no one waits. */
function onRejection(cause: unknown): void {
  const stack = stackOf(cause)
  const isStray = isOfModule(stack) || (isOwnProcess && (!isOwn(stack) || cause instanceof GatewayError))
  if (isStray) tell(cause, stack)
  else if (process.listenerCount('unhandledRejection') === 1) unheard(() => void Promise.reject(cause))
}

function onException(cause: unknown): void {
  const stack = stackOf(cause)
  if (isOfModule(stack)) tell(cause, stack)
  else if (process.listenerCount('uncaughtException') === 1) {
    unheard(() => {
      process.nextTick(() => {
        throw cause
      })
    })
  }
}

/** Does it again without these listeners, so that the runtime itself decides what becomes of it: as a rule, the process ends. */
function unheard(again: () => void): void {
  leave()
  again()
  const [module] = loaded
  setImmediate(() => {
    if (module !== undefined) guardStrays(module)
  })
}

function tell(cause: unknown, stack: string): void {
  const module = moduleIn(stack) ?? 'unknown'
  const [name, fault] = [basename(module), faultText(cause, module)]
  // Where modules are loaded before a gateway is there, or without one.
  if (reports.size === 0) process.emitWarning(`a module failed beside its calls: ${name}: ${fault}`)
  for (const report of reports) report(name, fault)
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
  return [...loaded].find(file => stack.includes(pathToFileURL(file).pathname))
}
