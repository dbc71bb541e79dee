const EMBEDDED = 'embedded:simulator'

/**
 * An upstream's address without a slash at its end, or what is wrong with it. The fault does not quote the address: a
 * variable may have put anything there.
 */
export function parseBase(text: string, simulated: boolean): { readonly base: string } | { readonly fault: string } {
  if (text === EMBEDDED) {
    return simulated ? { base: EMBEDDED } : { fault: `${EMBEDDED} is for upstreams of the kind simulator` }
  }
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return { fault: 'expected an address such as https://api.north.example or http://127.0.0.1:8000' }
  }
  if (url.username !== '' || url.password !== '') {
    return { fault: 'an address holds no name and password: use credential and secret' }
  }
  if (/[?#]/.test(text))
    return { fault: 'an address holds no query and no fragment: a query goes into the calls of speaks' }
  if (/[{}\s\\]/.test(text)) return { fault: 'an address holds no braces, spaces or backslashes' }
  return { base: `${url.origin}${url.pathname.replace(/\/+$/, '')}` }
}

/**
 * What stands at the end of an address and at the head of a call as well, such as `/v1`: clients' libraries want it in
 * the address, the calls of kinds begin with it.
 */
export function duplicatePrefix(base: string, target: string): string | undefined {
  if (base === EMBEDDED) return undefined
  const segments = new URL(base).pathname.split('/').slice(1).filter(Boolean)
  const ends = segments.map((_, index) => `/${segments.slice(index).join('/')}`)
  return ends.find(end => `${target.replace(/\?.*/, '')}/`.startsWith(`${end}/`))
}
