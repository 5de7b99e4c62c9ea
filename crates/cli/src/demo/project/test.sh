#!/bin/sh
# Checks leap.sh against years whose kind is known.
failed=0

check() {
    got=$(sh leap.sh "$1")
    if [ "$got" = "$2" ]; then
        echo "ok    $1 is $2"
    else
        echo "FAIL  $1 is $2, but leap.sh says $got"
        failed=1
    fi
}

check 2024 leap
check 2023 common
check 1900 common
check 2000 leap
exit $failed
