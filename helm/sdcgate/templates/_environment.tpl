{{/* What every service is told: (list $ "risk"). The schema keeps `settings` from repeating any of it. */}}
{{- define "sdcgate.environment" -}}
{{- $root := first . }}
{{- $name := index . 1 }}
{{- $section := printf "SDCGATE_%s__" (upper $name) }}
{{- $service := get $root.Values $name -}}
- {name: SDCGATE_STATE_DIR, value: /var/lib/sdcgate}
- {name: {{ $section }}HOST, value: 0.0.0.0}
- {name: {{ $section }}METRICS_HOST, value: 0.0.0.0}
- {name: {{ $section }}DRAIN_SECONDS, value: {{ $service.drainSeconds | quote }}}
- {name: {{ $section }}READY_FILE, value: /tmp/{{ $name }}.json}
{{- if eq $root.Values.tls.mode "mesh" }}
- {name: {{ $section }}PLAINTEXT, value: "true"}
{{- else }}
- {name: {{ $section }}TLS__CERTIFICATE, value: /etc/sdcgate/tls/tls.crt}
- {name: {{ $section }}TLS__KEY, value: /etc/sdcgate/tls/tls.key}
{{- if ne $name "gateway" }}
- {name: {{ $section }}TLS__CLIENT_CA, value: /etc/sdcgate/tls/ca.crt}
{{- end }}
{{- end }}
{{- range get (dict "gateway" (list "facility" "risk" "protection") "facility" (list "risk" "protection") "risk" (list "facility") "protection" (list "facility")) $name }}
{{ include "sdcgate.peer" (list $root (printf "%s%s__" $section (upper .)) .) }}
{{- end }}
{{- if ne $name "gateway" }}
- {name: SDCGATE_SERVICE_TOKEN_FILE, value: /etc/sdcgate/service-token/token}
{{- end }}
{{- if eq $name "facility" }}
{{- include "sdcgate.facilityEnvironment" $root }}
{{- end }}
{{- include "sdcgate.variables" (list "SDCGATE_" $root.Values.settings) }}
{{- include "sdcgate.variables" (list $section $service.settings) }}
{{- with $service.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* How a service is reached: all its replicas, by the headless service: (list $ "SDCGATE_GATEWAY__RISK__" "risk"). */}}
{{- define "sdcgate.peer" -}}
{{- $root := first . }}
{{- $prefix := index . 1 -}}
- {name: {{ $prefix }}ADDRESS, value: "{{ include "sdcgate.host" (list $root (index . 2)) }}:{{ include "sdcgate.port" (index . 2) }}"}
{{- if eq $root.Values.tls.mode "mesh" }}
- {name: {{ $prefix }}PLAINTEXT, value: "true"}
{{- else }}
- {name: {{ $prefix }}CA, value: /etc/sdcgate/tls/ca.crt}
- {name: {{ $prefix }}CERTIFICATE, value: /etc/sdcgate/tls/tls.crt}
- {name: {{ $prefix }}KEY, value: /etc/sdcgate/tls/tls.key}
{{- end }}
{{- end }}

{{- define "sdcgate.facilityEnvironment" }}
- {name: SDCGATE_DATA_ROOT, value: /srv/sdcgate/data}
- {name: SDCGATE_FACILITY__SPILL_DIR, value: /var/spill}
{{- if .Values.policies }}
- {name: SDCGATE_POLICY_DIR, value: /etc/sdcgate/policies}
{{- end }}
{{- if eq .Values.ledger.database "postgresql" }}
{{ include "sdcgate.ledgerEnvironment" . }}
{{- end }}
{{- end }}

{{/* Where PostgreSQL is, and how its certificate is checked; what the URL says itself goes before. */}}
{{- define "sdcgate.ledgerEnvironment" -}}
- {name: SDCGATE_SECRETS_DIR, value: /etc/sdcgate/ledger}
- {name: PGSSLMODE, value: {{ .Values.ledger.postgresql.sslMode }}}
{{- if .Values.ledger.postgresql.caSecret }}
- {name: PGSSLROOTCERT, value: /etc/sdcgate/ledger-ca/ca.crt}
{{- end }}
{{- end }}
