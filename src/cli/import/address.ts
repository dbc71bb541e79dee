/** How an address of another gateway is written here: `base` ends before `/v1`, which is part of each call. */
interface Address {
  readonly base: string
  /** Calls of its own, where the address ends in another way than `/v1`. */
  readonly speaks?: Readonly<Record<string, string>>
}

/** Calls below an address that has the whole prefix. */
const BARE_CALLS = { chat: 'POST /chat/completions', embeddings: 'POST /embeddings', models: 'GET /models' }

export function addressOf(text: string, isCompatible: boolean): Address {
  const trimmed = text.replace(/\/+$/, '').replace(/\/(?:chat\/completions|completions|embeddings|messages)$/, '')
  if (/\/v1$/.test(trimmed)) return { base: trimmed.slice(0, -'/v1'.length) }
  const hasVersion = /\/v\d+(?:beta)?$/.test(trimmed)
  return isCompatible && hasVersion ? { base: trimmed, speaks: BARE_CALLS } : { base: trimmed }
}

/** A variable that a foreign file refers to, as any of the gateways spells it. */
export function variableOf(text: string): string | undefined {
  const found =
    /^(?:os\.environ\/|env\.|env::|\$)([A-Za-z_]\w*)$/.exec(text) ??
    /^\$\{([A-Za-z_]\w*)(?::?-[^}]*)?\}$/.exec(text) ??
    /^\{vault:\/\/env\/([\w-]+)\}$/.exec(text)
  return found?.[1]?.replaceAll('-', '_')
}

export function asVariable(text: string): string {
  const name = text
    .toUpperCase()
    .replaceAll(/[^A-Z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
  return /^[A-Z]/.test(name) ? name : `KEY_${name}`
}

export function asName(text: string): string {
  const name = text
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    .replaceAll(/^[^A-Za-z0-9]+|-+$/g, '')
    .slice(0, 100)
  return name === '' ? 'imported' : name
}
