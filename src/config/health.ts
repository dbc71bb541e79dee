import { DEFAULTS } from '../core/defaults.generated.js'
import type { HealthRule, HealthSettings, ProbeConfig } from '../core/health.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import { readCall } from './endpoints.js'
import type { Layer } from './kinds.js'
import type { RawHealth, RawProbe } from './raw.generated.js'
import { readDuration, readShare } from './settings.js'

const DURATIONS = ['window', 'slow', 'cooldown', 'max_cooldown'] as const

/** What a level says of health. One that says anything but `off` switches it on. */
export function readHealth(raw: RawHealth | undefined, site: Site, context: Context): HealthSettings {
  if (raw === undefined) return {}
  if (raw === 'off') return { isOn: false }
  const { failures, requests, rate } = raw
  const durations: Partial<Record<keyof HealthRule, number>> = {}
  for (const name of DURATIONS) {
    const written = raw[name]
    if (written !== undefined) durations[name] = readDuration(written, site.child(name), context)
  }
  return {
    isOn: true,
    ...(failures === undefined ? {} : { failures }),
    ...(requests === undefined ? {} : { requests }),
    ...(rate === undefined ? {} : { rate: readShare(rate, site.child('rate'), context) }),
    ...durations,
    ...(raw.probe === undefined ? {} : { probe: readProbe(raw.probe, site.child('probe'), context) }),
  }
}

/** The same of a model, which is not probed. */
export function readModelHealth(raw: RawHealth, site: Site, context: Context): HealthSettings {
  const { probe, ...settings } = readHealth(raw, site, context)
  if (probe !== undefined) {
    const message = 'upstreams are probed, not models: write it under health of the upstream'
    context.report.error('misplaced', site.child('probe'), message, { on: 'key' })
  }
  return settings
}

function readProbe(raw: RawProbe, site: Site, context: Context): ProbeConfig {
  const durationOf = (name: 'every' | 'timeout'): number => {
    const written = raw[name]
    return written === undefined ? DEFAULTS.probe[name] : readDuration(written, site.child(name), context)
  }
  const call = raw.call === undefined ? undefined : readCall(raw.call, site.child('call'), context)
  if (call !== undefined && call.params.length > 0)
    context.report.error('bad-call', site.child('call'), 'a probe has no parameters to fill in: write the whole path')
  return {
    every: durationOf('every'),
    timeout: durationOf('timeout'),
    ...(call === undefined ? {} : { call: call.config }),
    ...(raw.body === undefined ? {} : { body: raw.body }),
  }
}

/** The same of an upstream, layer over layer. `hasList`: it has a list of models, which a probe asks for where it names no call. */
export function readLayers(layers: readonly Layer[], hasList: boolean, context: Context): HealthSettings {
  const read = layers.map(({ value, site }) => readHealth(value.health, site.child('health'), context))
  const probed = read.findLastIndex(({ probe }) => probe !== undefined)
  if (!hasList && probed >= 0 && read[probed]?.probe?.call === undefined) {
    const site = layers[probed]?.site.child('health', 'probe')
    const message = 'this upstream has no list of models to ask for: add call, such as GET /health'
    if (site !== undefined) context.report.error('missing-key', site, message, { on: 'key' })
  }
  return Object.assign({}, ...read)
}
