{{- /* With -admin behind it, as the second service has, at most the 63 characters of a name. */}}
{{- define "gateway.name" -}}
{{ .Release.Name | trunc 49 | trimSuffix "-" }}-gateway
{{- end }}

{{- define "gateway.port" -}}
{{ (.Values.config.listen | default dict).port | default 8080 }}
{{- end }}

{{- /* Empty where the configuration has no admin listener. */}}
{{- define "gateway.adminPort" -}}
{{- with .Values.config.admin }}{{ if ne (toString .port) "0" }}{{ .port | default 8081 }}{{ end }}{{ end }}
{{- end }}

{{- define "gateway.scheme" -}}
{{ ternary "HTTPS" "HTTP" (hasKey (.Values.config.listen | default dict) "tls") }}
{{- end }}

{{- /* Of a duration of the configuration, such as 2m: seconds, rounded up; 0 of a variable, which is not known here. */}}
{{- define "gateway.seconds" -}}
{{- $units := dict "ms" 0.001 "s" 1 "m" 60 "h" 3600 "d" 86400 }}
{{- $unit := regexFind "[a-z]+$" (toString .) }}
{{- ceil (mulf (trimSuffix $unit (toString .) | trim | float64) (get $units $unit | default 0)) | int }}
{{- end }}

{{- /* A pod that is killed while it drains loses requests. */}}
{{- define "gateway.grace" -}}
{{- $limits := .Values.config.limits | default dict }}
{{- $delay := include "gateway.seconds" ($limits.drain_delay | default "0s") | int }}
{{- $least := add $delay (mul 2 (include "gateway.seconds" ($limits.drain | default "30s") | int)) 15 }}
{{- if lt (int .Values.terminationGracePeriodSeconds) (int $least) }}
{{- fail (printf "terminationGracePeriodSeconds has to be at least %d: limits.drain_delay, twice limits.drain, and 15 s" (int $least)) }}
{{- end }}
{{- .Values.terminationGracePeriodSeconds }}
{{- end }}

{{- define "gateway.selector" -}}
app.kubernetes.io/name: model-gateway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gateway.labels" -}}
{{ include "gateway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- /* Changes with what a running gateway cannot reload, and with nothing else. */}}
{{- define "gateway.restart" -}}
{{- $listen := .Values.config.listen | default dict }}
{{- $tls := $listen.tls | default dict }}
{{- $admin := .Values.config.admin | default dict }}
{{- $own := pick .Values.config "store" "spool" "transport" "workers" }}
{{- $fixed := dict "listen" (pick $listen "host" "port" "backlog") "tls" (hasKey $listen "tls") "clients" (hasKey $tls "client_ca") }}
{{- dict "own" $own "fixed" $fixed "admin" (omit $admin "secret" "metrics" "write" "oidc") | toJson | sha256sum }}
{{- end }}

{{- define "gateway.account" -}}
{{ .Values.serviceAccount.name | default (ternary (include "gateway.name" .) "default" .Values.serviceAccount.create) }}
{{- end }}
