#!/bin/bash
# Wine 10 in a Debian system of its own, below $COUNTERSIGN_WINDOWS_CACHE. `cargo xtask windows` calls it; all but
# `run` in namespaces of its own (unshare --mount --pid), so that what is mounted and started here ends with it.
#
#   wine.sh install FOLDER      puts Wine and a virtual display into the Debian system in FOLDER
#   wine.sh prefix FOLDER       makes Wine's Windows folders and registry in FOLDER
#   wine.sh session COMMAND...  runs a command of this machine while a desktop is there for `run`
#   wine.sh run EXE [ARG...]    runs a Windows program on that desktop; this is cargo's runner
#
# Files have the same paths inside as outside. The streams are the program's own, byte for byte; the exit code is the
# lowest 8 bits of the program's.
set -euo pipefail
cache=$COUNTERSIGN_WINDOWS_CACHE
system=$cache/debian
# The loader itself: Debian's `wine` script warns on stderr that it has no 32-bit Linux libraries.
wine=/usr/lib/wine/wine64

# What a package manager or Wine needs from the kernel.
mount_kernel() {
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount --rbind /sys "$1/sys"
}

# This machine's files under the same paths inside: all but the folders of the operating system, and what is needed
# of those.
mount_files() {
    local folder
    for folder in /*; do
        [ -d "$folder" ] && [ ! -L "$folder" ] || continue
        case $folder in
        /bin | /boot | /dev | /etc | /lib* | /lost+found | /proc | /run | /sbin | /sys | /usr | /var) continue ;;
        esac
        mkdir -p "$system$folder"
        mount --rbind "$folder" "$system$folder"
    done
    for folder in "$cache" "$PWD" "${CARGO_TARGET_DIR:-$PWD}"; do
        [ "$folder" -ef "$system$folder" ] && continue
        mkdir -p "$system$folder"
        mount --rbind "$folder" "$system$folder"
    done
}

# Runs a program inside, with Wine's environment and none of this machine's libraries.
inside() {
    local folder=$PWD
    [ -d "$system$folder" ] || folder=/
    exec env -u LD_LIBRARY_PATH -u LD_PRELOAD -u XDG_RUNTIME_DIR -u XAUTHORITY -u WAYLAND_DISPLAY \
        chroot "$system" /usr/bin/env -C "$folder" PATH=/usr/bin:/bin HOME="$cache/home" LC_ALL=C.UTF-8 \
        WINELOADER="$wine" WINEPREFIX="${prefix:-$cache/prefix}" WINEARCH=win64 WINEDEBUG="${WINEDEBUG:--all}" \
        WINEDLLOVERRIDES='mscoree=;mshtml=;winemenubuilder.exe=' "$@"
}

install() {
    mount_kernel "$1"
    chroot "$1" sh -euc '
        apt-get update -q
        apt-get install -q -y --no-install-recommends wine wine64 xvfb
        # Wine 10 runs 32-bit Windows programs without a 32-bit Linux; it needs only its own 32-bit Windows files.
        # These are enough for a program with a window and a UI Automation provider.
        dpkg --add-architecture i386
        apt-get update -q
        mkdir -p /opt/wine32
        cd /opt/wine32
        apt-get download -q libwine:i386
        dpkg -x libwine_*.deb .
        for name in ntdll.dll kernel32.dll kernelbase.dll win32u.dll user32.dll gdi32.dll advapi32.dll sechost.dll \
            msvcrt.dll ucrtbase.dll rpcrt4.dll combase.dll coml2.dll ole32.dll oleaut32.dll oleacc.dll \
            uiautomationcore.dll shell32.dll shlwapi.dll shcore.dll imm32.dll uxtheme.dll comctl32.dll comdlg32.dll \
            compstui.dll winspool.drv winex11.drv winmm.dll msimg32.dll msacm32.dll version.dll ws2_32.dll bcrypt.dll \
            bcryptprimitives.dll atl100.dll stdole2.tlb crypt32.dll setupapi.dll userenv.dll psapi.dll \
            cmd.exe notepad.exe rundll32.exe regsvr32.exe
        do
            cp "usr/lib/i386-linux-gnu/wine/i386-windows/$name" /usr/lib/x86_64-linux-gnu/wine/i386-windows/
        done
        cd /
        rm -r /opt/wine32
        dpkg --remove-architecture i386
        apt-get clean
        rm -rf /var/lib/apt/lists/*
    '
}

prefix() {
    mount_kernel "$system"
    # Only the cache: what Wine leaves in its temporary folder stays inside.
    mkdir -p "$system$cache"
    mount --bind "$cache" "$system$cache"
    prefix=$1
    (inside "$wine" wineboot.exe --init)
    (inside wineserver -w)
    [ -s "$prefix/system.reg" ]
}

session() {
    mount_kernel "$system"
    mount_files
    local display server keeper status=0
    # Xvfb takes a free display and writes its number once it is ready.
    exec {number}< <(inside Xvfb -displayfd 1 -screen 0 1280x800x24 -nolisten tcp)
    server=$!
    read -r -t 60 display <&"$number"
    export DISPLAY=":$display"
    # Without it Wine would start its desktop with the first program and hand it that program's streams.
    coproc keeper { inside "$wine" "$cache/session-keeper.exe" 2>/dev/null; }
    read -r -t 60 _ <&"${keeper[0]}"
    "$@" || status=$?
    # A server that ends by itself takes along its lock file, which lies among this machine's files.
    kill "$server"
    timeout 10 tail --pid="$server" -f /dev/null
    exit "$status"
}

case ${1-} in
install | prefix | session) "$@" ;;
run)
    shift
    inside "$wine" "$@"
    ;;
*)
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
